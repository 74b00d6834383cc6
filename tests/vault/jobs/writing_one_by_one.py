"""Writing one by one: a plain writer for tests of what stands around it; what is compared are bytes."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, select, update

from vault.jobs.change import Change
from vault.jobs.work import Work

__all__ = ["WritesOneByOne"]


class WritesOneByOne:
    """Compares the columns by SQL's equality, which for stored bytes is bytewise."""

    def __init__(self, work: Work) -> None:
        table: Table = work.table
        keys = list(table.primary_key.columns)
        same = [key == bindparam(f"key_{at}", type_=key.type) for at, key in enumerate(keys)]
        unchanged = [
            table.c[name].is_not_distinct_from(bindparam(f"old_{at}", type_=table.c[name].type))
            for at, name in enumerate(work.compares)
        ]
        set_to = {name: bindparam(f"new_{at}", type_=table.c[name].type) for at, name in enumerate(work.sets)}
        self._update = update(table).where(*same, *unchanged).values(set_to)
        are_set = [
            table.c[name].is_not_distinct_from(bindparam(f"new_{at}", type_=table.c[name].type))
            for at, name in enumerate(work.sets)
        ]
        self._written = select(keys[0]).where(and_(*same, *are_set))

    def write(self, connection: Connection, changes: Sequence[Change]) -> list[bool]:
        """As BatchWriter. When some were not written, each is looked up to tell which."""
        if not changes:
            return []
        parameters = [_named(change) for change in changes]
        if connection.execute(self._update, parameters).rowcount == len(changes):
            return [True] * len(changes)
        return [connection.execute(self._written, one).first() is not None for one in parameters]


def _named(change: Change) -> dict[str, Any]:
    parts = {"key": change.key, "old": change.old, "new": change.new}
    return {f"{part}_{at}": value for part, values in parts.items() for at, value in enumerate(values)}
