"""A work without keys, for tests of the engine: each row's text is put in capitals; a text with ! cannot be."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Engine,
    Integer,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    func,
    insert,
    select,
)

from vault.jobs.change import Change, Failed
from vault.jobs.walking.key_pages import key_of
from vault.jobs.walking.stored_key import job_table

NOTES = Table(
    "note",
    MetaData(),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("body", Text),
    Column("owner", Integer),
)


def write_notes(engine: Engine, bodies: Sequence[str]) -> None:
    NOTES.create(engine, checkfirst=True)
    with engine.begin() as connection:
        connection.execute(insert(NOTES), [{"id": at, "body": body, "owner": 0} for at, body in enumerate(bodies)])


def bodies(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(NOTES.c.body).order_by(NOTES.c.id)))


class Capitals:
    """pages: the keys of each page that was renewed. meanwhile: called for each page after it was read."""

    name = "capitals"
    reads = ("body",)
    compares = ("body",)
    sets = ("body",)

    def __init__(self, goal: str = "capitals") -> None:
        self.table = job_table(NOTES)
        self.goal = goal
        self.pages: list[list[int]] = []
        self.renewed: list[int] = []
        self.refreshed = 0

    def refresh(self) -> None:
        self.refreshed += 1

    def meanwhile(self, keys: list[int]) -> None:
        """Of a test."""

    def renew(self, rows: Sequence[RowMapping]) -> tuple[list[Change], list[Failed]]:
        keys = [row["id"] for row in rows]
        self.pages.append(keys)
        changes, failed = [], []
        for row in rows:
            if "!" in row["body"]:
                failed.append(Failed(key_of(self.table, row), "body", "has a mark of exclamation"))
            elif row["body"] != row["body"].upper():
                changes.append(Change(key_of(self.table, row), (row["body"],), (row["body"].upper(),)))
        self.renewed += [change.key[0] for change in changes]
        self.meanwhile(keys)
        return changes, failed

    def groups(self, within: Sequence[ColumnElement[bool]] = ()) -> Select[Any]:
        body = self.table.c.body
        inner = select(body).where(*within).subquery()
        return select(inner.c.body, func.count().label("rows")).group_by(inner.c.body)

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return (
            {} if group["body"] == group["body"].upper() and "!" not in group["body"] else {"body": "is not capitals"}
        )
