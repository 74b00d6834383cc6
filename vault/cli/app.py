"""The application: one place where an error becomes one line and an exit status.

`noisevault --version` and `--help` wait for no more than is imported here; a command adds what it needs.
"""

import sys
from io import TextIOWrapper
from typing import Annotated, Final, NoReturn

import typer

from vault.cli.commands import CommandGroup
from vault.jobs.collector import rare_collections

# Ours: more objects than the modules of any command make, none of which is garbage.
IMPORTED: Final = 300_000

app = typer.Typer(
    name="noisevault",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback would show what the variables hold
)


def say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"noisevault {version('noisevault')}")
        raise typer.Exit


@app.callback()
def noisevault(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=say_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """An encrypted data vault with a privatized aggregate layer."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; exits with 0, 1 (refused or failed, one line says why) or 2 (the words are off).

    Jobs exit with 3 when rows are left, and with 4 when they were stopped before the end: job_ending.py.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone shows what it can
    try:
        with rare_collections(IMPORTED):
            app(arguments)
        sys.exit(0)
    except Exception as error:
        from vault.cli.refusal import refusal_of

        reason = refusal_of(error)
        if reason is None:
            raise
        refuse(reason)


def refuse(reason: str) -> NoReturn:
    """One line on standard error, and exit status 1."""
    from rich.console import Console

    Console(stderr=True).print(f"refused: {reason}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)
