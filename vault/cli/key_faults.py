"""Key faults: which stored keys do not unwrap, why, and what to do, a line each."""

from collections.abc import Iterable, Iterator
from typing import Final

import typer
from rich.console import Console

from kms import CannotUnwrapError, KeyRecord, Keyring, KmsError

__all__ = ["fault", "key_faults", "say_faults"]

BRING_BACK: Final = "; bring back the key-encryption key that wrapped it, or the key's row from a backup"


def key_faults(keyring: Keyring) -> Iterator[str]:
    """A line for each live key that does not unwrap. Raises: KmsError when the service does not answer at all."""
    for record, error in keyring.lifecycle.check():
        yield fault(record, error)


def fault(record: KeyRecord, error: KmsError) -> str:
    """The line for one key."""
    advice = BRING_BACK if isinstance(error, CannotUnwrapError) else ""  # the others say it themselves
    return f"key {record.key_id.hex()} ({record.purpose} {record.sequence}) does not unwrap: {error}{advice}"


def say_faults(console: Console, faults: Iterable[str]) -> None:
    """Print each as it is found. Raises: typer.Exit with 1 if there was one."""
    wrong = 0
    for fault in faults:
        wrong += 1
        console.print(f"wrong: {fault}", highlight=False, soft_wrap=True, markup=False)
    if wrong:
        raise typer.Exit(1)
