"""Tokens of the key service that end while a table is re-encrypted: renewed, or the run stops and goes on later."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert, select

from kms import AccessDeniedError, Keyring, KeyStore, LeaseSettings, LoginExpiredError, Purpose
from kms.logins.app_role import AppRole
from kms.patience import Patience
from kms.secret import SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.providers.transit import Transit, transit_on
from tests.pairwise import one_of
from tests.servers.databases import DATABASES
from tests.servers.openbao import BaoDev
from tests.vault.projects import visit, write_policy
from vault.attaching import attach
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Event
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState, JobStore
from vault.jobs.pace import PaceSettings
from vault.jobs.reencrypt import Reencrypt
from vault.opened import OpenedVault
from vault.policy import Policy
from vault.rows.raw_table import raw_table
from vault.rows.scan import key_id_of
from vault.schema import tables

pytestmark = pytest.mark.openbao
PERSONS = 60
# A busy machine may take long to answer; nothing is asked twice.
PATIENT = Patience(deadline=30, attempts=1)
# Seconds: keys are unwrapped anew all the time, so that every batch needs the token.
LEASES = LeaseSettings(sealing=2, unwrapped_soft=0.4, unwrapped_hard=0.8)


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"t{secrets.token_hex(4)}") as transit:
        transit.create()
        yield transit


class Visits:
    """A table of visits, all under a data key that was replaced."""

    def __init__(self, url: str, folder: Path, transit: Transit) -> None:
        self.transit, self.keys = transit, f"sqlite:///{folder / 'keys.db'}"
        self.table = tables(Policy.load(write_policy(folder))).tables["visit"]
        self.engine = create_engine(url)
        store = KeyStore.from_url(self.keys)
        store.create_schema()
        keyring = Keyring.create(store, transit.provider(patience=PATIENT), "main")
        opened = OpenedVault(keyring, store)
        attach(self.engine, opened)
        self.table.create(self.engine)
        with self.engine.begin() as connection:
            connection.execute(insert(self.table), [visit(person) for person in range(PERSONS)])
        self.old = keyring.sealing(Purpose.DATA).key.key_id
        keyring.lifecycle.rotate(Purpose.DATA)
        opened.close()

    def reencrypt(self, seconds: float, events: list[Event], **login: Any) -> Any:
        """In so many seconds, as a process that has only this login."""
        store = KeyStore.from_url(self.keys)
        opened = OpenedVault(
            Keyring.open(store, self.transit.provider(patience=PATIENT, **login), "main", leases=LEASES), store
        )
        settings = JobSettings(PaceSettings(most_rows=5, rows_per_second=PERSONS / seconds), patience=5)
        try:
            return Job(Reencrypt.of(self.table, opened), self.engine, settings, notify=events.append).run()
        finally:
            opened.close()

    def under_the_old_key(self) -> list[bool]:
        """Of each row in order; a row is whole, all its values are under one key."""
        raw = raw_table(self.table)
        names = ("national_id", "diagnosis", "spending")
        with self.engine.connect() as connection:
            rows = connection.execute(select(*(raw.c[name] for name in names)).order_by(raw.c.person)).all()
        assert all(len({key_id_of(value) for value in row}) == 1 for row in rows)
        return [key_id_of(row[0]) == self.old for row in rows]


@pytest.fixture
def visits(database_url: str, tmp_path: Path, transit: Transit) -> Visits:
    return Visits(database_url, tmp_path, transit)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 0), indirect=True)
def test_k13_01_a_run_of_six_seconds_outlasts_tokens_of_two(visits: Visits) -> None:
    role = AppRoleOnServer.create(visits.transit, token_ttl="2s", token_max_ttl="2s")
    login = AppRole(role.role_id, SecretText(role.secret_id()), role.mount)
    tally = visits.reencrypt(6, [], login=login)
    tally.require_complete()
    assert (tally.rewritten, tally.remaining) == (PERSONS, 0)
    assert not any(visits.under_the_old_key())


@pytest.mark.parametrize("database_url", one_of(DATABASES, 1), indirect=True)
def test_k13_01_a_run_whose_token_nobody_renews_stops_with_whole_rows_and_goes_on_with_another(visits: Visits) -> None:
    token = visits.transit.token(("decrypt/kek", "update"), ttl="2s", renewable=False)
    with pytest.raises(LoginExpiredError, match="give a token that is valid"):
        visits.reencrypt(6, [], token=token)
    left = visits.under_the_old_key()
    assert 0 < sum(left) < PERSONS
    assert left == sorted(left), "what was written is what comes first"
    assert JobStore(visits.engine).all()[0]["state"] == JobState.STOPPED
    events: list[Event] = []
    tally = visits.reencrypt(1, events)
    tally.require_complete()
    assert tally.rewritten == sum(left)
    assert not any(visits.under_the_old_key())
    assert next(event for event in events if isinstance(event, Advanced)).seen > PERSONS - sum(left)


@pytest.mark.parametrize("database_url", one_of(DATABASES, 2), indirect=True)
def test_k13_01_own_1_a_run_whose_secret_id_is_used_up_stops_with_whole_rows_and_goes_on_with_another(
    visits: Visits,
) -> None:
    """A secret id for one login alone, as careful roles have it: the second login is refused, in the middle."""
    role = AppRoleOnServer.create(visits.transit, token_ttl="2s", token_max_ttl="2s", secret_id_num_uses=1)
    login = AppRole(role.role_id, SecretText(role.secret_id()), role.mount)
    with pytest.raises((AccessDeniedError, LoginExpiredError), match="secret") as stopped:
        visits.reencrypt(6, [], login=login)
    assert login.secret_id.reveal() not in str(stopped.value)
    left = visits.under_the_old_key()
    assert 0 < sum(left) < PERSONS
    again = AppRole(role.role_id, SecretText(role.secret_id()), role.mount)
    tally = visits.reencrypt(1, [], login=again)
    tally.require_complete()
    assert tally.rewritten == sum(left)
