"""A row is compared as it is stored, whatever its type makes of it; it is written unless somebody changed it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    MetaData,
    RowMapping,
    Select,
    Table,
    TypeDecorator,
    create_engine,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import ARRAY, JSON, Date, DateTime, Float, Interval, LargeBinary, Numeric, Text, TypeEngine

from vault.jobs.change import Change, Failed
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.walking.key_pages import key_of
from vault.jobs.walking.stored_key import job_table


class Reversed(TypeDecorator[str]):
    impl = Text
    cache_ok = True

    def process_result_value(self, value: Any, _dialect: Any) -> Any:
        return None if value is None else value[::-1]


class Marks:
    """Sets done beside what it read of v, as the type declares it."""

    name, goal = "marks", "marked"
    reads, compares, sets = ("v", "done"), ("v",), ("done",)

    def __init__(self, kind: TypeEngine[Any], meanwhile: Callable[[], None]) -> None:
        columns = Column("v", kind), Column("done", LargeBinary)
        self.table = job_table(Table("t", MetaData(), Column("id", Integer, primary_key=True), *columns))
        self.seen: list[Any] = []
        self.meanwhile = meanwhile

    def refresh(self) -> None:
        pass

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        due = [row for row in rows if row["done"] is None]
        self.seen += [row["v"] for row in due]
        self.meanwhile()
        return [Change(key_of(self.table, row), (row["v"],), (b"done",)) for row in due], []

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        inner = select(self.table.c.done).where(*within).subquery()
        return select(inner.c.done, func.count().label("rows")).group_by(inner.c.done)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return {} if group["done"] else {"done": "is not marked"}


# Declared type, type in the database, what it holds, and another value that is equal to it or read as the same.
CASES: dict[str, tuple[str, TypeEngine[Any], str, str, str]] = {
    "date in another form": ("sqlite", Date(), "TEXT", "'20200102'", "'2020-01-02'"),
    "moment in another form": ("sqlite", DateTime(), "TEXT", "'2020-01-02T03:04:05'", "'2020-01-02 03:04:05'"),
    "document of sqlite": ("sqlite", JSON(), "TEXT", "'{\"a\":   1.00}'", "'{\"a\": 1.0}'"),
    "number that is a text": ("sqlite", Text(), "BLOB", "5", "'5'"),
    "decorated": ("sqlite", Reversed(), "TEXT", "'ab'", "'AB'"),
    "json": ("postgres", JSON(), "json", "'{\"a\":   1.00}'", "'{\"a\": 1.0}'"),
    "jsonb": ("postgres", JSONB(), "jsonb", "'{\"a\": 1.00}'", "'{\"a\": 1.0}'"),
    "interval": ("postgres", Interval(), "interval", "'1 month'", "'30 days'"),
    "array": ("postgres", ARRAY(Numeric()), "numeric[]", "'{1.00}'", "'{1.0}'"),
    "zero": ("postgres", Float(), "float8", "'-0'", "'0'"),
    "single": ("postgres", Float(), "float4", "0.1", "0.10000001"),
    "text of postgres": ("postgres", Text(), "text", "'Bob'", "'bob'"),
    "float of mariadb": ("mariadb", Float(), "FLOAT", "16777215", "16777214"),
    "json of mariadb": ("mariadb", JSON(), "JSON", "'{\"a\":   1.00}'", "'{\"a\": 1.0}'"),
    "interval of mariadb": ("mariadb", Interval(), "DATETIME(6)", "'1970-01-02'", "'1970-01-03'"),
    "text of mariadb": ("mariadb", Text(), "VARCHAR(9)", "'Bob'", "'bob '"),
}


def of(kind: str) -> list[str]:
    return [name for name, case in CASES.items() if case[0] == kind]


def check(url: str, case: str) -> None:
    _, declared, ddl, value, other = CASES[case]
    engine = create_engine(url)
    with engine.begin() as connection:
        blob = BLOB[engine.dialect.name]
        connection.exec_driver_sql(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {ddl}, done {blob})")
        connection.exec_driver_sql(f"INSERT INTO t (id, v) VALUES (1, {value}), (2, {value}), (3, NULL)")

    def meanwhile() -> None:
        with create_engine(url).begin() as service:
            service.exec_driver_sql(f"UPDATE t SET v = {other} WHERE id = 2")

    work = Marks(declared, meanwhile)
    first = Job(work, engine, JobSettings(passes=1)).run()
    assert (first.rewritten, first.changed_meanwhile, first.remaining) == (2, 1, 1)
    assert len(work.seen) == 4, "and the row that is left once more, to be named"
    second = Job(Marks(declared, lambda: None), engine, JobSettings(passes=1)).run()
    assert (second.rewritten, second.outcome) == (1, JobState.COMPLETE)


BLOB = {"sqlite": "BLOB", "postgresql": "bytea", "mysql": "BLOB"}


@pytest.mark.parametrize("case", of("sqlite"))
def test_on_sqlite(tmp_path: Any, case: str) -> None:
    check(f"sqlite:///{tmp_path / 'rows.db'}", case)


@pytest.mark.postgres
@pytest.mark.parametrize("case", of("postgres"))
def test_on_postgresql(postgres_url: str, case: str) -> None:
    check(postgres_url, case)


@pytest.mark.mariadb
@pytest.mark.parametrize("case", of("mariadb"))
def test_on_mariadb(mariadb_url: str, case: str) -> None:
    check(mariadb_url, case)
