from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text, Uuid, create_engine, insert, select

from vault.errors import PolicyError
from vault.mapping import Sealed
from vault.rows.raw_table import raw_table
from vault.rows.tenant_rows import require_no_tenants, rows_of, tenant_column

ACME = UUID(int=7)


def table_of(*tenants: Column[Any]) -> Table:
    fields = [Column(f"field{at}", Sealed(Text, tenant=column.name)) for at, column in enumerate(tenants)]
    key = Column("id", Integer, primary_key=True)
    return Table("account", MetaData(), key, *tenants, Column("plain", Sealed(Text)), *fields)


@pytest.mark.parametrize(
    ("kind", "named", "keyring", "found"),
    [
        (String(40), ["acme", "globex", "7"], "acme", [1]),
        (String(40), ["acme", "globex", "7"], "7", [3]),
        (BigInteger(), [7, 70, -7], "7", [1]),
        (BigInteger(), [7, 70, -7], "07", []),
        (BigInteger(), [7, 70, -7], "acme", []),
        (Uuid(), [ACME, UUID(int=70), UUID(int=0)], str(ACME), [1]),
        (Uuid(), [ACME, UUID(int=70), UUID(int=0)], ACME.hex, []),
        (Uuid(), [ACME, UUID(int=70), UUID(int=0)], "acme", []),
    ],
)
def test_rows_are_of_the_tenant_whose_name_is_the_keyrings(
    kind: Any, named: list[Any], keyring: str, found: list[int]
) -> None:
    table = table_of(Column("tenant", kind))
    stored = raw_table(table)
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        stored.metadata.create_all(connection)
        connection.execute(insert(stored), [{"id": at, "tenant": name} for at, name in enumerate(named, start=1)])
        condition = rows_of(table, stored, keyring)
        assert condition is not None
        assert connection.scalars(select(stored.c.id).where(condition)).all() == found
    engine.dispose()


def test_a_table_that_names_none_has_all_its_rows_read() -> None:
    table = table_of()
    assert tenant_column(table) is None
    assert rows_of(table, raw_table(table), "main") is None
    require_no_tenants(table)


def test_a_table_that_names_tenants_is_not_shown_nor_written_by_commands() -> None:
    with pytest.raises(PolicyError, match=r"rows of account name their tenants \(tenant\).* open_tenants\(\)"):
        require_no_tenants(table_of(Column("tenant", String(40))))


def test_a_row_of_several_tenants_is_nobodys() -> None:
    with pytest.raises(PolicyError, match=r"several columns \(one, other\)"):
        tenant_column(table_of(Column("one", String(40)), Column("other", String(40))))
