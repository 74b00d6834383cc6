"""audit recover: charges that ended without an answer are marked as such."""

from contextlib import closing
from datetime import timedelta
from typing import Annotated, Final

import typer
from rich.console import Console

from vault.cli.duration import parse_duration
from vault.cli.options import POLICY, PolicyOption, load_policy, open_keys
from vault.opened_ledger import open_ledger

__all__ = ["OLD", "recover"]

# Ours: longer than any question is computed for.
OLD: Final = timedelta(days=1)


def recover(
    older_than: Annotated[
        timedelta | None,
        typer.Option(parser=parse_duration, metavar="DURATION", help="Longer than any question takes; 1d by default."),
    ] = None,
    policy: PolicyOption = POLICY,
) -> None:
    """Mark charges without an answer that are older than a day: charged, not released. maintain does so too.

    What is marked gets no answer any more, also where a slow process comes back with one; what it cost stays spent.
    """
    with open_keys(policy) as keyring, closing(open_ledger(load_policy(policy), keyring)) as ledger:
        marked = ledger.recover((OLD if older_than is None else older_than).total_seconds())
    Console(soft_wrap=True, markup=False, highlight=False).print(f"{marked} charges are marked as not released")
