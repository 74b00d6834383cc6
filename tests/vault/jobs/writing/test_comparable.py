"""Types that cannot be compared byte for byte are refused, by name, before anything is written."""

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Column, Dialect, Integer, LargeBinary, MetaData, Table, TypeDecorator
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.types import JSON, Boolean, Date, Interval, Numeric, PickleType, Text, Time, TypeEngine, Uuid

from vault.errors import DefinitionError
from vault.jobs.walking.stored_key import StoredKey
from vault.jobs.writing.comparable import bind_to_stored, require_comparable
from vault.jobs.writing.stored_text import StoredText

POSTGRES, MARIADB, SQLITE = postgresql.dialect(), mysql.dialect(), sqlite.dialect()


class Reversed(TypeDecorator[str]):
    impl = Text
    cache_ok = True


def table(kind: TypeEngine[Any]) -> Table:
    return Table("visit", MetaData(), Column("id", Integer, primary_key=True), Column("note", kind))


@pytest.mark.parametrize(
    ("kind", "dialect"),
    [
        (Interval(), MARIADB),
        (PickleType(), SQLITE),
        (Reversed(), SQLITE),
        (JSON(), POSTGRES),
        (postgresql.HSTORE(), POSTGRES),
    ],
)
def test_a_type_that_changes_values_on_the_way_is_refused_with_column_and_type(
    kind: TypeEngine[Any], dialect: Dialect
) -> None:
    with pytest.raises(
        DefinitionError, match=rf"visit\.note of type {type(kind).__name__} cannot .* nothing was written"
    ):
        require_comparable(table(kind), ["note"], dialect)
    require_comparable(table(StoredKey(kind)), ["note"], dialect)
    require_comparable(table(StoredText()), ["note"], dialect)


def test_columns_that_are_not_compared_may_have_any_type() -> None:
    require_comparable(table(Reversed()), ["id"], SQLITE)


@pytest.mark.parametrize(
    ("kind", "dialect", "value", "stored"),
    [
        (LargeBinary(), POSTGRES, b"x", b"x"),
        (Date(), SQLITE, date(2020, 1, 2), "2020-01-02"),
        (Numeric(10, 2), SQLITE, Decimal("1.00"), 1),
        (Numeric(10, 2), SQLITE, Decimal("1.50"), 1.5),
        (Boolean(), MARIADB, True, 1),
        (Time(), MARIADB, time(1, 2), timedelta(hours=1, minutes=2)),
        (Uuid(), SQLITE, UUID(int=5), f"{5:032x}"),
        (JSON(), SQLITE, {"a": 1.0}, '{"a": 1.0}'),
    ],
)
def test_a_value_becomes_what_the_driver_reads_of_it(
    kind: TypeEngine[Any], dialect: Dialect, value: object, stored: object
) -> None:
    bind = bind_to_stored(kind, dialect)
    found = value if bind is None else bind(value)
    assert (type(found), found) == (type(stored), stored)
    assert bind is None or bind(None) is None
