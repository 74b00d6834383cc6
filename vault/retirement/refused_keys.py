"""Refused keys: which keys the columns of a table refuse by their triggers, read from the database and made more.

Making it waits for every transaction that has written to the table, so a scan afterwards misses none, but for what is
prepared on MariaDB by the two phases of XA: there it is asked for, see prepared_transactions.py.
"""

import re
from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Engine, Table, inspect, text
from sqlalchemy.exc import DBAPIError

from vault.errors import KeyInUseError
from vault.retirement.key_refusal import KeyRefusal, refusals_of
from vault.triggers.exact_sql import exact_name, exact_place
from vault.triggers.patient_ddl import PATIENCE, family_of, run_or_leave_to_owner

__all__ = ["refuse_keys", "refused_keys"]

LISTED: Final = re.compile(r"(?:x'|\\x)([0-9a-f]{8})'", re.IGNORECASE)
# The column of which the header is read. A trigger goes with a column that is renamed, and its own name stays.
JUDGED: Final = re.compile(r'SUBSTR\(NEW\.("(?:[^"]|"")+"|`(?:[^`]|``)+`|[^",`\s]+),', re.IGNORECASE)
# A partition, or a table that inherits, has triggers of its own. The parent's kind says whether they are made by its.
POSTGRESQL: Final = text(
    "WITH RECURSIVE tree(oid, parent) AS ("
    " SELECT CAST(CAST(:place AS regclass) AS oid), CAST(NULL AS oid)"
    " UNION SELECT i.inhrelid, i.inhparent FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)"
    " SELECT CAST(CAST(tree.oid AS regclass) AS text) AS place, p.relkind IS NOT DISTINCT FROM 'p' AS cloned,"
    " t.tgname AS name, t.tgenabled = 'A' AS always, pg_get_triggerdef(t.oid) AS definition"
    " FROM tree LEFT JOIN pg_class p ON p.oid = tree.parent LEFT JOIN pg_trigger t ON t.tgrelid = tree.oid"
)
MARIADB: Final = text(
    "SELECT trigger_name AS name, action_statement AS definition FROM information_schema.triggers"
    " WHERE event_object_schema = COALESCE(:schema, DATABASE()) AND event_object_table = :table"
)
# A trigger refuses a statement after its row was written, and only an engine with transactions takes the row back.
ENGINE: Final = text(
    "SELECT e.transactions FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine"
    " WHERE t.table_schema = COALESCE(:schema, DATABASE()) AND t.table_name = :table"
)
SQLITE: Final = "SELECT name, sql AS definition FROM {}sqlite_master WHERE type = 'trigger' AND tbl_name = :table"

# By the trigger's name and the column that it judges.
Listed = dict[tuple[str, str], frozenset[bytes]]


def refused_keys(engine: Engine, table: Table) -> frozenset[bytes]:
    """The keys that every sealed and every term column of the table refuses, on INSERT and on UPDATE."""
    if not _takes_back(engine, table):
        return frozenset()
    listed, _ = _look(engine, table)
    of_each = [_of(listed, refusal) for refusal in refusals_of(table)]
    return frozenset.intersection(*of_each) if of_each else frozenset()


def refuse_keys(engine: Engine, table: Table, keys: Collection[bytes], patience: float = PATIENCE) -> None:
    """Have all these columns refuse the keys, and those that any of them refuses by now.

    patience: how many seconds a transaction may hold the table. Raises: KeyInUseError when it does, naming how to find
    it; where this role may not make a trigger, with the statements to run; for a view; and on MariaDB for a table
    without transactions, which keeps a row that was refused.
    """
    if not _takes_back(engine, table):
        raise KeyInUseError(
            f"{table.fullname} has no transactions, so that a row which is refused is written all the same: move it by"
            f" ALTER TABLE {exact_place(engine, table.schema, table.name)} ENGINE=InnoDB, then type the same command"
        )
    listed, places = _look(engine, table)
    wanted = frozenset(keys).union(*listed.values())
    lacking = [refusal for refusal in refusals_of(table) if not wanted <= _of(listed, refusal)]
    statements = [one for refusal in lacking for place in places for one in refusal.make(engine.dialect, wanted, place)]
    if not statements:
        return
    if family_of(engine, KeyInUseError) == "postgresql":
        held = exact_place(engine, table.schema, table.name)
        statements.insert(0, f"LOCK TABLE {held} IN SHARE ROW EXCLUSIVE MODE")
    doing = f"make a trigger on {table.name}"
    try:
        run_or_leave_to_owner(engine, statements, table.name, KeyInUseError, doing, patience)
    except DBAPIError:
        if table.name not in inspect(engine).get_view_names(schema=table.schema):
            raise
        raise KeyInUseError(
            f"{table.fullname} is a view: declare the table behind it, which has the triggers"
        ) from None


def _takes_back(engine: Engine, table: Table) -> bool:
    """Whether a statement that is refused leaves no row."""
    if family_of(engine, KeyInUseError) != "mariadb":
        return True
    with engine.connect() as connection:
        return connection.scalar(ENGINE, {"schema": table.schema, "table": table.name}) in {"YES", None}


def _of(listed: Listed, refusal: KeyRefusal) -> frozenset[bytes]:
    insert, update = (listed.get((name, refusal.column), frozenset()) for name in refusal.names)
    return insert & update


def _look(engine: Engine, table: Table) -> tuple[Listed, list[str]]:
    """What each trigger lists, in all places; and the quoted tables on which triggers are made by name."""
    family = family_of(engine, KeyInUseError)
    own = exact_place(engine, table.schema, table.name)
    with engine.connect() as connection:
        if family == "postgresql":
            connection.exec_driver_sql("SET LOCAL bytea_output = 'hex'")
            return _in_all(connection.execute(POSTGRESQL, {"place": own}).all())
        if family == "mariadb":
            found = connection.execute(MARIADB, {"schema": table.schema, "table": table.name}).all()
        else:
            schema = "" if table.schema is None else f"{exact_name(engine, table.schema)}."
            found = connection.execute(text(SQLITE.format(schema)), {"table": table.name}).all()
    return {_judging(row): _keys_in(row.definition) for row in found}, [own]


def _in_all(found: Any) -> tuple[Listed, list[str]]:
    """PostgreSQL: a trigger lists what it lists in each partition and each table that inherits, if it fires always."""
    by_place: dict[str, Listed] = {}
    made_on: dict[str, None] = {}
    for row in found:
        here = by_place.setdefault(row.place, {})
        if not row.cloned:
            made_on[row.place] = None
        if row.name is not None and row.always:
            here[_judging(row)] = _keys_in(row.definition)
    names = {name for here in by_place.values() for name in here}
    listed = {
        name: frozenset.intersection(*(here.get(name, frozenset()) for here in by_place.values())) for name in names
    }
    return listed, list(made_on)


def _judging(row: Any) -> tuple[str, str]:
    found = JUDGED.search(row.definition)
    column = "" if found is None else str(found[1])
    if column[:1] in {'"', "`"}:
        column = column[1:-1].replace(column[0] * 2, column[0])
    return str(row.name), column


def _keys_in(definition: str) -> frozenset[bytes]:
    return frozenset(bytes.fromhex(found) for found in LISTED.findall(definition))
