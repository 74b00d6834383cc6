"""Visits: the table that faults are caused around, how another process opens it, and what it must hold at the end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, Table, create_engine, insert, select

from kms import Keyring, KeyStore, LeaseSettings, ProviderSettings, Purpose, SecretText
from kms.logins import AppRole
from tests import forkserver
from tests.vault.projects import make_project, visit
from vault.attaching import attach
from vault.jobs.proof import prove
from vault.jobs.reencrypt import Reencrypt
from vault.opened import OpenedVault
from vault.policy import Policy
from vault.project import Project, open_keks
from vault.rows.raw_table import raw_table
from vault.rows.scan import key_id_of
from vault.schema import tables

PROCESSES: Final = forkserver.PROCESSES

SEALED: Final = ("national_id", "diagnosis", "spending")
# A process that was told of no rotation seals by the older key for so many seconds.
SEALING_LEASE: Final = 1.0

State = tuple[str, str]
"""national_id and diagnosis of a visit; spending is always the same."""


@dataclass(frozen=True)
class Place:
    """What another process opens: a project's folder. soft, hard: how long it goes on without its key service.

    token, or role id, secret id and mount: of its login there. refresh: whether a thread renews its keys; it may be in
    the key store when the process is stopped.
    """

    folder: Path
    soft: float = 300
    hard: float = 3600
    token: str | None = None
    role: tuple[str, str, str] | None = None
    ca_file: str | None = None
    deadline: float = 0.5
    refresh: bool = True

    @property
    def settings(self) -> ProviderSettings:
        token = None if self.token is None else SecretText(self.token)
        login = None if self.role is None else AppRole(self.role[0], SecretText(self.role[1]), self.role[2])
        return ProviderSettings(token=token, login=login, ca_file=self.ca_file, deadline=self.deadline)

    @contextmanager
    def opened(self) -> Iterator[tuple[Engine, Table, OpenedVault]]:
        policy = Policy.load(self.folder / "noisevault.toml")
        store = KeyStore.from_url(policy.keys_url)
        leases = LeaseSettings(SEALING_LEASE, self.soft, self.hard)
        keks = open_keks(policy, self.settings)
        vault = OpenedVault(Keyring.open(store, keks, policy.vault.keyring, leases=leases, refresh=self.refresh), store)
        engine = create_engine(policy.database_url, hide_parameters=True)
        metadata = tables(policy)
        attach(engine, vault, metadata)
        try:
            yield engine, metadata.tables["visit"], vault
        finally:
            vault.close()
            engine.dispose()


def patient(url: str) -> str:
    """SQLite has one writer: whoever waits for it here waits for a minute, as services do."""
    return f"{url}?timeout=60" if url.startswith("sqlite") and "?" not in url else url


def national_id(person: int, count: int = 0) -> str:
    """No two visits have the same."""
    return f"{person:012d}{count:06d}"


def first_state(person: int) -> State:
    return national_id(person), f"of {person}"


def row(person: int, state: State) -> dict[str, object]:
    return visit(person, national_id=state[0], diagnosis=state[1])


def fill(project: Project, persons: Iterable[int]) -> None:
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [row(person, first_state(person)) for person in persons])


def make_visits(folder: Path, url: str, rows: int) -> Project:
    """A project whose keys lie in its folder, with visits of the persons from 0 on."""
    project = make_project(folder, patient(url))
    fill(project, range(rows))
    return project


def rotate(project: Project) -> bytes:
    return project.opened.keyring.lifecycle.rotate(Purpose.DATA).key_id


def stored(project: Project) -> dict[int, State]:
    """What the visits hold, opened: a row that was half-written would not open."""
    table = project.table("visit")
    with project.engine.connect() as connection:
        found = connection.execute(select(table.c.person, *(table.c[name] for name in SEALED))).all()
    assert {spending for *_, spending in found} <= {10.0}
    assert len({person for person, *_ in found}) == len(found)
    return {person: (number, diagnosis) for person, number, diagnosis, _ in found}


def key_ids(project: Project) -> set[bytes]:
    """Of every sealed value, as the database has them."""
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        return {
            key_id_of(value) for row in connection.execute(select(*(raw.c[name] for name in SEALED))) for value in row
        }


def require_found_by_index(project: Project, wanted: Mapping[int, State]) -> None:
    """Each visit, and no other, is found by its national_id."""
    table = project.table("visit")
    numbers = {number: person for person, (number, _) in wanted.items()}
    assert len(numbers) == len(wanted)
    listed = list(numbers)
    with project.engine.connect() as connection:
        for at in range(0, len(listed), 500):
            some = listed[at : at + 500]
            statement = select(table.c.national_id, table.c.person).where(table.c.national_id.in_(some))
            found = connection.execute(statement).all()
            assert sorted(map(tuple, found)) == sorted((number, numbers[number]) for number in some)


def require_whole(project: Project, allowed: Mapping[int, Sequence[State | None]], key_id: bytes | None = None) -> None:
    """Each row holds what was committed last, or one of two where nobody can know; it is under the key, and found."""
    found = stored(project)
    wrong = {
        person: (found.get(person), states) for person, states in allowed.items() if found.get(person) not in states
    }
    assert not wrong, wrong
    assert not found.keys() - allowed.keys()
    require_found_by_index(project, found)
    if key_id is not None:
        assert key_ids(project) == {key_id}
        assert prove(project.engine, Reencrypt.of(project.table("visit"), project.opened)).remaining == 0


def as_first(rows: int) -> dict[int, Sequence[Any]]:
    """What is allowed where nobody wrote."""
    return {person: [first_state(person)] for person in range(rows)}
