"""The application: the commands by name, and one place where an error becomes one line and an exit status."""

import sys

import click
import typer
from rich.console import Console
from sqlalchemy.exc import SQLAlchemyError

from dp import DpError
from kms import KmsError
from vault.cli import asking, checking, demonstrating, importing, initialising, keys, looking, reencrypting
from vault.errors import VaultError

app = typer.Typer(
    name="noisevault",
    help="An encrypted data vault with a privatized aggregate layer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback would show what the variables hold
)
for command in (
    initialising.init,
    importing.import_file,
    looking.find,
    looking.show,
    keys.rotate,
    reencrypting.reencrypt_tables,
    asking.ask,
    asking.budget,
    checking.check,
    demonstrating.demo,
):
    app.command(name=command.__name__.removesuffix("_file").removesuffix("_tables"))(command)
app.add_typer(keys.app, name="keys")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, 1 (refused or failed, one line says why) or 2 (the words are off)."""
    complaints = Console(stderr=True)
    try:
        sys.exit(app(arguments, standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        complaints.print("stopped; what was committed stays, and the command can be started again")
        sys.exit(130)
    except (VaultError, KmsError, DpError) as error:
        complaints.print(f"refused: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except SQLAlchemyError as error:
        # The driver's own text may quote a row.
        complaints.print(f"the database refused or did not answer ({type(error).__name__}); its own log says more")
        sys.exit(1)
    except OSError as error:
        complaints.print(f"refused: {error.strerror}: {error.filename}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
