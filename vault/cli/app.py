"""The application: one place where an error becomes one line and an exit status."""

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from dp import DpError
from kms import KmsError
from vault.cli.commands import CommandGroup
from vault.errors import VaultError

app = typer.Typer(
    name="noisevault",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback would show what the variables hold
)


def say_version(asked: bool) -> None:
    if asked:
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
        app(arguments)
        sys.exit(0)
    except (VaultError, KmsError, DpError) as error:
        refuse(str(error))
    except SQLAlchemyError as error:
        # The driver's own text may quote a row, unless it is of the connection alone.
        state = getattr(getattr(error, "orig", None), "sqlstate", None)
        if isinstance(error, OperationalError) and error.statement is None and state is None:
            told = "".join(str(error.orig).splitlines()[:1])[:200]
            if "@" in told:  # what follows an @ within a password is taken for the host, and named
                told = f"{type(error).__name__}; in its URL an @ of a password is written %40"
            refuse(f"the database of the data does not answer ({told})")
        told = f"{type(error).__name__}, SQLSTATE {state}" if state else type(error).__name__
        refuse(f"the database refused or did not answer ({told}); its own log says more")
    except OSError as error:
        refuse(f"{error.strerror}: {error.filename}" if error.filename else str(error))


def refuse(reason: str) -> NoReturn:
    """One line on standard error, and exit status 1."""
    Console(stderr=True).print(f"refused: {reason}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)
