"""The commands by name. A command's module is imported when the command is asked for: one needs a part of the code."""

from collections.abc import Iterator, Mapping
from copy import copy
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class Place(NamedTuple):
    """Where a command is, and how its help begins: the list of all commands is shown without importing them."""

    module: str
    member: str
    summary: str


# In the order in which the help shows them.
PLACES: Final[Mapping[str, Place]] = {
    "init": Place(
        "initialising",
        "init",
        "Make the key file, the keyring, the tables and the budgets that the policy names; what is there stays.",
    ),
    "import": Place(
        "importing", "import_file", "Read a CSV file into a table: every row, or, when one row is wrong, none."
    ),
    "find": Place("looking", "find", "Show the rows in which COLUMN equals VALUE; exits with 1 when there is none."),
    "show": Place("looking", "show", "Show the first rows of a table in key order."),
    "rotate": Place(
        "rotating",
        "rotate",
        "Make a new key active: new values are sealed with it, old ones still open. Then: reencrypt, or reindex.",
    ),
    "reencrypt": Place(
        "reencrypting",
        "reencrypt_tables",
        "Move every sealed value to the active key. May be stopped anywhere and started again; services go on.",
    ),
    "reindex": Place(
        "reindexing",
        "reindex_tables",
        "Move an index to the active index key, another normaliser or width; make a new one on old rows; remove one.",
    ),
    "verify": Place(
        "verifying",
        "verify_tables",
        "Open every value, recompute every index term, name each row that fails; change none. Services go on.",
    ),
    "status": Place(
        "status_showing",
        "status",
        "Count rows by key, generation and column; jobs, rows left in quarantine, changes under way.",
    ),
    "maintain": Place(
        "maintaining",
        "maintain",
        "Do what is due by the section `maintenance` of the policy; safe to start every hour on several machines.",
    ),
    "metrics": Place(
        "metrics_writing",
        "metrics",
        "Write metrics for Prometheus. Each table is read once, counted by the database; nothing is opened.",
    ),
    "mode": Place(
        "migrating",
        "mode",
        "Show in which mode a migrating field is, and how it came there; or change it, by one step.",
    ),
    "backfill": Place(
        "migrating",
        "backfill",
        "Seal what stands in the plaintext column, with its terms. In mode dual-read-plaintext; services go on.",
    ),
    "restore": Place(
        "migrating",
        "restore",
        "The way back: open what is sealed into the plaintext column. In mode dual-read-sealed; services go on.",
    ),
    "clear": Place(
        "migrating",
        "clear",
        "Set the plaintext column NULL, where a sealed value beside it opens. In mode sealed-only; services go on.",
    ),
    "ask": Place(
        "asking",
        "ask",
        "Ask for aggregates, charged each on its own or all at once. For trusted users: this command holds the keys.",
    ),
    "preview": Place(
        "previewing",
        "preview",
        "Show what an answer would cost and how far it would be off. It reads the policy: no key, no row, no ledger.",
    ),
    "plan": Place(
        "planning",
        "plan",
        "Show what several questions would cost together, by each accountant. No key, no row, no ledger.",
    ),
    "budget": Place("budgeting", "app", "Show what each dataset may cost one person, and what is left; change it."),
    "report": Place(
        "reporting",
        "report",
        "Tell what a quarter spent, by whom, what it adds up to, and how keys and audit log are. No value is opened.",
    ),
    "check": Place(
        "checking",
        "check",
        "Verify policy, keys, audit log and every sealed value; exits with 1 when something is wrong.",
    ),
    "demo": Place(
        "demonstrating",
        "demo",
        "Import, seal, look up, rotate and ask, on 20,190 records of the RAND Health Insurance Experiment.",
    ),
    "restore-check": Place(
        "restore_checking",
        "restore_check",
        "After a restore: which keys the rows need and whether they live, what went back, what to do. Changes nothing.",
    ),
    "audit": Place("audit_commands", "app", "The audit log of the ledger."),
    "keys": Place("key_commands", "app", "The data keys of the keyring."),
    "jobs": Place("jobs", "app", "Look at jobs, pause, resume and stop them."),
    "dp": Place("self_testing", "app", "The noise of the answers."),
    "inspect": Place("inspecting", "app", "Measure what stored data tells."),
}


class Commands(Mapping[str, Any]):
    """The commands, each made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        place = PLACES[name]
        found = getattr(import_module(f"vault.cli.{place.module}"), place.member)
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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Of each command its summary alone is shown."""
        listed = copy(self)
        listed.commands = {name: TyperCommand(name, help=place.summary) for name, place in PLACES.items()}
        super(CommandGroup, listed).format_help(ctx, formatter)
