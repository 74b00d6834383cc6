"""The commands by name. A command's module is imported when the command is asked for: one needs a part of the code."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

# Where each is, in the order in which the help shows them.
PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("initialising", "init"),
    "import": ("importing", "import_file"),
    "find": ("looking", "find"),
    "show": ("looking", "show"),
    "rotate": ("rotating", "rotate"),
    "reencrypt": ("reencrypting", "reencrypt_tables"),
    "reindex": ("reindexing", "reindex_tables"),
    "verify": ("verifying", "verify_tables"),
    "status": ("status_showing", "status"),
    "maintain": ("maintaining", "maintain"),
    "metrics": ("metrics_writing", "metrics"),
    "mode": ("migrating", "mode"),
    "backfill": ("migrating", "backfill"),
    "restore": ("migrating", "restore"),
    "clear": ("migrating", "clear"),
    "ask": ("asking", "ask"),
    "preview": ("previewing", "preview"),
    "plan": ("planning", "plan"),
    "budget": ("budgeting", "app"),
    "report": ("reporting", "report"),
    "check": ("checking", "check"),
    "demo": ("demonstrating", "demo"),
    "restore-check": ("restore_checking", "restore_check"),
    "audit": ("audit_commands", "app"),
    "keys": ("key_commands", "app"),
    "jobs": ("jobs", "app"),
    "dp": ("self_testing", "app"),
    "inspect": ("inspecting", "app"),
}


class Commands(Mapping[str, Any]):
    """The commands, each made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        module, member = PLACES[name]
        found = getattr(import_module(f"vault.cli.{module}"), member)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(name=name)(found)
            found = alone
        command = get_command(found)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class CommandGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": Commands()})

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(PLACES)
