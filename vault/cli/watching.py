"""audit watch: patterns in what was asked that an operator should look at. It warns, and stops nobody."""

import json
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Final

import typer
from rich.console import Console

from vault.cli.duration import parse_duration
from vault.cli.models import ModelsOption, load_models
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy, open_keys
from vault.duration import show_exactly
from vault.exact_number import exact_number
from vault.opened_ledger import open_ledger
from vault.reporting.page import visible
from vault.watching.thresholds import DEFAULTS, Thresholds
from vault.watching.warning import Warned
from vault.watching.watch import watch

__all__ = ["SINCE", "parse_share", "since_microseconds", "watch_log"]

# Ours: a quarter, which is what a report is about.
SINCE: Final = timedelta(days=91)
# Ours: of one warning as many texts and numbers as a person looks at; --json has all.
MOST_SHOWN: Final = 5


def parse_share(text: str) -> Fraction:
    """A number from 0 to 1. Raises: typer.BadParameter."""
    try:
        share = Fraction(exact_number(text))
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise typer.BadParameter("a share is a number from 0 to 1, such as 0.01")
    return share


def watch_log(
    since: Annotated[
        timedelta | None,
        typer.Option(parser=parse_duration, metavar="DURATION", help="How far back; 91d by default."),
    ] = None,
    tiny: Annotated[
        Fraction | None,
        typer.Option(parser=parse_share, metavar="SHARE", help="Of a lifetime, a tiny charge; 0.005 by default."),
    ] = None,
    tiny_count: Annotated[int, typer.Option(min=2, metavar="N", help="So many tiny charges.")] = DEFAULTS.tiny_count,
    tiny_within: Annotated[
        timedelta | None,
        typer.Option(parser=parse_duration, metavar="DURATION", help="Within that time; 1d by default."),
    ] = None,
    near_count: Annotated[int, typer.Option(min=2, metavar="N", help="So many near duplicates.")] = DEFAULTS.near_count,
    single: Annotated[
        Fraction | None,
        typer.Option(
            parser=parse_share, metavar="SHARE", help="Of what is declared, next to nothing; 0.01 by default."
        ),
    ] = None,
    full: Annotated[
        Fraction | None,
        typer.Option(parser=parse_share, metavar="SHARE", help="Of a window's budget, all of it; 0.9 by default."),
    ] = None,
    full_windows: Annotated[
        int, typer.Option(min=1, metavar="N", help="So many such windows in a row.")
    ] = DEFAULTS.full_windows,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell of tiny charges, near duplicates, filters that single out few, and analysts who are always at the limit.

    It reads the log and the questions' texts, and no row of the data. Exit status: 0, with warnings and without.
    """
    try:
        thresholds = Thresholds(
            tiny=DEFAULTS.tiny if tiny is None else tiny,
            tiny_count=tiny_count,
            tiny_within=DEFAULTS.tiny_within if tiny_within is None else tiny_within,
            near_count=near_count,
            single=DEFAULTS.single if single is None else single,
            full=DEFAULTS.full if full is None else full,
            full_windows=full_windows,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    rules, back = load_policy(policy, load_models(models)), SINCE if since is None else since
    begin = since_microseconds(back)
    with open_keys(policy) as keyring, closing(open_ledger(rules, keyring)) as ledger:
        found = watch(ledger.logged(begin), rules, thresholds, begin)
    _say(found, back, as_json=as_json)


def since_microseconds(back: timedelta) -> int:
    """So long before now, since 1970."""
    return time.time_ns() // 1000 - back // timedelta(microseconds=1)


def _say(found: Sequence[Warned], back: timedelta, *, as_json: bool) -> None:
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for one in found:
        if as_json:
            members = {"code": one.code, "dataset": one.dataset, "principals": one.principals, "count": one.count}
            typer.echo(json.dumps({**members, "told": one.sentence, "entries": one.entries, "questions": one.texts}))
            continue
        console.print(f"{one.code}: {one.sentence}")
        console.print(f"  entries {_first([str(number) for number in one.entries], ', ')}")
        if one.texts:
            # Whoever asked wrote them; those who watch have another terminal.
            texts = [visible(text) for text in one.texts]
            console.print(f"  {_first(texts, chr(10) + '  ')}")
    if not found and not as_json:
        console.print(f"nothing to look at in the last {show_exactly(back)}")


def _first(of: Sequence[str], between: str) -> str:
    more = len(of) - MOST_SHOWN
    return between.join([*of[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])])
