"""A table with a unique index, its rows, and processes that write and ask it by the slots of their own plans."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)

from kms import Keyring, KeyStore, LeaseSettings, open_provider
from kms.providers.local import create_key_file
from vault.changeover.phase import Subject
from vault.changeover.store import ChangeoverStore
from vault.definitions.definition import FieldDefinition
from vault.field import Field
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.reindexing.index_members import members_of, recorded_parts
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.jobs.tally import Tally
from vault.jobs.work import Work
from vault.mapping import Sealed
from vault.mapping.definitions import definition_of
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex

# Seconds.
LEASE = 1.0
SSN = Subject("person", "ssn", "bidx")


def person_table(*indexes: BlindIndex, unique: bool = True, generation: int = 0) -> Table:
    return Table(
        "person",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("city", String(20)),
        Column("ssn", Sealed(String(40), index=list(indexes), unique=unique, generation=generation)),
    )


def definition_in(table: Table, column: str = "ssn") -> FieldDefinition:
    return definition_of(table.c[column])


@dataclass
class Process:
    """One process: a keyring of its own. It does in SQL what the mapping does."""

    engine: Engine
    table: Table
    field: Field

    def __post_init__(self) -> None:
        self.raw = raw_table(self.table)

    def insert(self, key: int, value: str | None) -> None:
        with self._writing() as connection:
            plan = self.field.plan()
            terms = {name: term for name, term in self.field.terms(value, plan).items() if name in plan.written}
            connection.execute(insert(self.raw).values(id=key, ssn=self.field.seal(value), **terms))

    def update(self, key: int, value: str | None) -> None:
        with self._writing() as connection:
            new = {"ssn": self.field.seal(value), **self.field.terms(value)}
            connection.execute(update(self.raw).where(self.raw.c.id == key).values(new))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """SQLite has one writer, and who waits for its turn has no plan yet."""
        with self.engine.begin() as connection:
            if self.engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def find(self, value: str) -> list[int]:
        plan = self.field.plan()
        column = self.raw.c[f"ssn_bidx_{plan.indexes['bidx'].asked}"]
        term, matches = self.field.asked_term("bidx", value, plan), self.field.matcher("bidx", value, plan)
        with self.engine.connect() as connection:
            rows = connection.execute(select(self.raw.c.id, self.raw.c.ssn).where(column == term)).all()
        return [row.id for row in rows if matches(self.field.open(row.ssn))]


def _without_a_disk(connection: Any, _record: object) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = OFF"):
        connection.execute(f"PRAGMA {pragma}").close()


@dataclass
class People:
    """The data's database, a key store beside it, and how to open processes and commands on both."""

    engine: Engine
    folder: Path
    opened: list[OpenedVault] = field(default_factory=list)
    lease: float = LEASE

    @classmethod
    def made(cls, url: str, folder: Path, table: Table) -> "People":
        create_key_file(folder / "kek")
        engine = create_engine(url, **({"connect_args": {"timeout": 30}} if url.startswith("sqlite") else {}))
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _without_a_disk)
        people = cls(engine, folder)
        store = people.store()
        store.create_schema()
        Keyring.create(store, people.provider(), "main", refresh=False)
        table.metadata.create_all(engine)
        return people

    def store(self) -> KeyStore:
        return KeyStore.from_url(f"sqlite:///{self.folder / 'keys.db'}")

    def provider(self) -> Any:
        return open_provider(f"local:{self.folder / 'kek'}")

    def vault(self, name: str = "main") -> OpenedVault:
        store = self.store()
        keyring = Keyring.open(store, self.provider(), name, leases=LeaseSettings(sealing=self.lease))
        vault = OpenedVault(keyring, store)
        self.opened.append(vault)
        return vault

    def process(self, table: Table, name: str = "main") -> Process:
        return Process(self.engine, table, self.vault(name).field(definition_in(table)))

    def steps(self, table: Table, subject: Subject = SSN, run: Callable[[Work], Tally] | None = None) -> IndexSteps:
        vault = self.vault()
        changeovers = ChangeoverStore(vault.key_store, vault.keyring.id, timedelta(seconds=self.lease))
        return IndexSteps(
            changeovers,
            subject,
            members_of(subject, [table], vault),
            recorded_parts(vault, subject),
            self.engine,
            run or (lambda work: Job(work, self.engine, JobSettings(patience=5)).run()),
            vault.keyring.beside.end,
            "operator@host",
            deployed=True,
        )

    def nulls(self, column: str) -> int:
        """Of rows with a value, how many have NULL in a column."""
        raw = Table("person", MetaData(), autoload_with=self.engine)
        with self.engine.connect() as connection:
            statement = select(func.count()).where(raw.c.ssn.is_not(None), raw.c[column].is_(None))
            return connection.scalar(statement) or 0

    def forget(self, key: int) -> None:
        raw = Table("person", MetaData(), autoload_with=self.engine)
        with self.engine.begin() as connection:
            connection.execute(delete(raw).where(raw.c.id == key))

    def close(self) -> None:
        for vault in self.opened:
            vault.close()
        self.engine.dispose()
