"""One database: what a command says where a keyring has several, and it would change the indexes or modes of all."""

from typing import Annotated

import typer

from vault.databases.database_identity import identify
from vault.databases.database_register import DatabaseRegister
from vault.databases.only_here import require_only_here
from vault.project import Project

__all__ = ["OnlyHereOption", "refuse_other_databases"]

OnlyHereOption = Annotated[
    bool, typer.Option("--only-here", help="None of the keyring's other databases has this table.")
]


def refuse_other_databases(project: Project, doing: str) -> None:
    """Raises: ChangeoverError where the keyring has other databases, KmsError."""
    register, keyring_id = DatabaseRegister(project.opened.key_store), project.opened.keyring.id
    with project.engine.connect() as connection:
        this = identify(connection.connection.dbapi_connection, project.engine.dialect.name, project.engine.url)
    if this is not None:
        register.see(keyring_id, this)
    require_only_here(register.databases(keyring_id), doing)
