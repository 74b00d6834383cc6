from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateTable

from vault.definitions.definition_tables import field_table, index_slot_table, metadata


def test_the_tables_compile_on_every_database() -> None:
    for table in metadata.sorted_tables:
        for dialect in (sqlite.dialect(), postgresql.dialect(), mysql.dialect()):
            assert table.name in str(CreateTable(table).compile(dialect=dialect))


def test_a_field_has_one_definition_a_generation_and_a_slot_has_one_pin() -> None:
    assert [c.name for c in field_table.primary_key] == ["keyring_id", "table_name", "column_name", "generation"]
    assert [c.name for c in index_slot_table.primary_key][-2:] == ["index_name", "slot"]
