"""Dataset sources: where the rows of each dataset are, so that a copy of a dataset under another name is found.

A source is told by what a database says of itself (databases/database_identity.py) and by the table's name. Another
address of the same database, or a view, is another source: copies are found, not all of them.
"""

import hashlib
from collections.abc import Mapping

from vault.databases.database_identity import identify
from vault.project import Project

__all__ = ["dataset_sources"]


def dataset_sources(project: Project) -> Mapping[str, str]:
    """By dataset, 64 hexadecimal digits; none of a database in memory."""
    engine = project.engine
    with engine.connect() as connection:
        found = identify(connection.connection.dbapi_connection, engine.dialect.name, engine.url)
    if found is None:
        return {}
    tables = {name: project.table(rules.table).fullname for name, rules in project.policy.dataset.items()}
    if engine.dialect.name != "postgresql":  # where names that differ in case can be one table
        tables = {name: table.lower() for name, table in tables.items()}
    return {name: hashlib.sha256(f"{found.digest}\n{table}".encode()).hexdigest() for name, table in tables.items()}
