"""Wrapped keys that do not unwrap after a restore: what is told, and that looking again is enough."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert, text

from kms import KeyProvider, Keyring, KeyStore
from kms.logins.app_role import AppRole
from kms.secret import SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.providers.transit import Transit, transit_on
from tests.servers.openbao import BaoDev
from tests.vault.cli.conftest import Run
from tests.vault.projects import visit, write_policy
from tests.vault.restoration.copies import kinds, looked
from vault.attaching import attach
from vault.opened import OpenedVault
from vault.policy import Policy
from vault.restoration.finding import FindingKind
from vault.restoration.survey import Survey, survey
from vault.schema import tables


def test_a_key_encryption_key_that_is_lost(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "kek").rename(tmp_path / "away")
    assert kinds(looked(loaded)) == {"key service does not answer"}
    assert loaded("keys", "new-file", "kek").status == 0
    report = looked(loaded)
    assert kinds(report) == {"key does not unwrap", "audit log is not whole"}
    assert sum(one["kind"] == "key does not unwrap" for one in report["findings"]) == 3
    (tmp_path / "away").replace(tmp_path / "kek")
    assert looked(loaded, status=0)["well"]


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"t{secrets.token_hex(4)}") as transit:
        transit.create()
        yield transit


class Restored:
    """A table on PostgreSQL whose keys a service wraps; while somebody holds the table, counting it takes as long."""

    def __init__(self, url: str, folder: Path, transit: Transit) -> None:
        self.table = tables(Policy.load(write_policy(folder))).tables["visit"]
        self.engine: Engine = create_engine(url)
        self.store = KeyStore.from_url(f"sqlite:///{folder / 'keys.db'}")
        self.store.create_schema()
        opened = OpenedVault(Keyring.create(self.store, transit.provider(), "main", refresh=False), self.store)
        attach(self.engine, opened)
        self.table.create(self.engine)
        with self.engine.begin() as connection:
            connection.execute(insert(self.table), [visit(1)])

    def looked(self, provider: KeyProvider, seconds: float = 0) -> Survey:
        held = threading.Event()

        def hold() -> None:
            with self.engine.begin() as connection:
                connection.execute(text("LOCK TABLE visit IN ACCESS EXCLUSIVE MODE"))
                held.set()
                time.sleep(seconds)

        holder = threading.Thread(target=hold)
        if seconds:
            holder.start()
            assert held.wait(10)
        try:
            return survey(self.engine, [self.table], self.store, provider, "main", {})
        finally:
            if seconds:
                holder.join()

    def stored(self) -> list[Any]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text("SELECT * FROM visit"))]


@pytest.fixture
def restored(postgres_url: str, tmp_path: Path, transit: Transit) -> Iterator[Restored]:
    made = Restored(postgres_url, tmp_path, transit)
    with closing(made.store):
        yield made
    made.engine.dispose()


@pytest.mark.openbao
@pytest.mark.postgres
def test_k13_01_a_look_that_outlasts_its_token_logs_in_again(restored: Restored, transit: Transit) -> None:
    role = AppRoleOnServer.create(transit, token_ttl="2s", token_max_ttl="2s")
    provider = transit.provider(login=AppRole(role.role_id, SecretText(role.secret_id()), role.mount))
    assert restored.looked(provider).findings == ()
    assert restored.looked(provider, 3).findings == ()


@pytest.mark.openbao
@pytest.mark.postgres
def test_k13_01_a_look_whose_token_nobody_renews_says_so_and_is_made_again(
    restored: Restored, transit: Transit
) -> None:
    before = restored.stored()
    token = transit.token(("decrypt/kek", "update"), ttl="2s", renewable=False)
    (found,) = restored.looked(transit.provider(token=token), 3).findings
    assert found.kind is FindingKind.KEK_AWAY
    assert "give a token that is valid" in found.text
    assert token not in found.text
    assert restored.looked(transit.provider()).findings == ()
    assert restored.stored() == before


@pytest.mark.openbao
@pytest.mark.postgres
def test_k13_01_own_2_a_policy_that_is_taken_away_while_the_table_is_counted_is_no_lost_key(
    restored: Restored, transit: Transit
) -> None:
    """The login is good and may unwrap no more: told of each key as denied, and never as gone or changed."""
    token = transit.token(("decrypt/kek", "update"))
    (name,) = [one for one in transit.root.auth.token.lookup(token)["data"]["policies"] if one != "default"]
    taken = threading.Timer(1, lambda: transit.root.sys.delete_policy(name))
    taken.start()
    found = restored.looked(transit.provider(token=token), 2).findings
    taken.join()
    assert {one.kind for one in found} == {FindingKind.KEK_FAILS}
    assert len(found) == 3
    assert all("corrupt" not in one.text and "changed" not in one.text for one in found)


@pytest.mark.openbao
@pytest.mark.postgres
def test_k13_01_own_3_versions_that_are_retired_while_the_table_is_counted_are_told_with_what_brings_them_back(
    restored: Restored, transit: Transit
) -> None:
    path = f"{transit.mount}/keys/kek"
    transit.root.write_data(f"{path}/rotate")

    def raised() -> None:
        transit.root.write_data(f"{path}/config", data={"min_decryption_version": 2})

    timer = threading.Timer(1, raised)
    timer.start()
    found = restored.looked(transit.provider(), 2).findings
    timer.join()
    assert {one.kind for one in found} == {FindingKind.KEK_FAILS}
    assert all("min_decryption_version=1" in one.text for one in found)
    transit.root.write_data(f"{path}/config", data={"min_decryption_version": 1})
    assert restored.looked(transit.provider()).findings == ()
