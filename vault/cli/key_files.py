"""keys new-file: a new key-encryption key in a local file, to move the data keys to."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kms.providers.local import create_key_file
from vault.cli.options import read_passphrase


def new_key_file(
    file: Annotated[Path, typer.Argument(help="The new file; one that is there stays as it is.")],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Protect it by one: typed, or of NOISEVAULT_PASSPHRASE_FILE.")
    ] = False,
) -> None:
    """Make a file with a new key-encryption key, of mode 0600; nothing is wrapped by it yet."""
    kek = create_key_file(file, passphrase=read_passphrase(confirm=True) if passphrase else None)
    Console(soft_wrap=True, markup=False, highlight=False).print(
        f"{kek} in {file} (mode 0600); keep a copy elsewhere, without it nothing opens"
    )
