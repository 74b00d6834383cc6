"""Raw table: a mapped table as the database holds it, sealed columns as plain bytes.

Jobs and the bridge move stored bytes themselves; the type that seals and opens would be in their way. The raw
table has the names of the mapped one and a MetaData of its own, so that nothing else finds it.
"""

from sqlalchemy import Column, LargeBinary, MetaData, Table

from vault.mapping.definitions import all_term_columns, sealed_columns


def raw_table(table: Table) -> Table:
    """The same table and columns, in which every sealed and every term column is LargeBinary."""
    stored_as_bytes = {column.name for column in (*sealed_columns(table), *all_term_columns(table))}
    columns = [
        Column(
            column.name,
            LargeBinary() if column.name in stored_as_bytes else column.type,
            primary_key=column.primary_key,
            nullable=column.nullable,
        )
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns, schema=table.schema)
