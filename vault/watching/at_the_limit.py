"""At the limit: an analyst, or a group of them, uses up what a window allows, window after window."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import dp
from dp.ledger.verifying.logged import Logged
from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned, percent

__all__ = ["at_the_limit"]

CODE = "at-the-limit"
KINDS: Final = ("analyst", "group")
# As long as the ledger's spans are, in microseconds; what is for ever has no next window.
SPANS: Final = {
    name: days * timedelta(days=1) // timedelta(microseconds=1)
    for name, days in {"day": 1, "week": 7, "month": 30, "quarter": 91}.items()
}
Scope = tuple[str, str, str, str]  # dataset, kind, subject, span


@dataclass(slots=True)
class _Windows:
    """What a scope spent in each of its windows, side by side since 1970, and by which entries."""

    nano: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    entries: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    principals: set[str] = field(default_factory=set)


def at_the_limit(entries: Iterable[Logged], thresholds: Thresholds, since: int = 0) -> Iterator[Warned]:
    """By what each entry of the log says of the scopes that it was charged to, and by the caps that were declared last.

    entries: all, in order. since: microseconds since 1970; what was charged before does not count.
    """
    caps: dict[Scope, int] = {}
    spent: defaultdict[Scope, _Windows] = defaultdict(_Windows)
    for entry in entries:
        if entry.kind == "policy":
            _declare(caps, entry.fields)
        elif entry.kind == "charge" and entry.at >= since:
            for kind, subject, span, _, nano in entry.fields.get("scopes", ()):
                if kind in KINDS and span in SPANS:
                    windows = spent[entry.fields["dataset"], kind, subject, span]
                    window = entry.at // SPANS[span]
                    windows.nano[window] += nano
                    windows.entries[window].append(entry.sequence)
                    windows.principals.add(entry.fields["principal"])
    for scope in sorted(spent):
        cap = caps.get(scope, caps.get((*scope[:2], "", scope[3]), 0))
        yield from _warned(scope, cap, spent[scope], thresholds)


def _declare(caps: dict[Scope, int], fields: Any) -> None:
    """A declaration names all that a dataset has."""
    for scope in [scope for scope in caps if scope[0] == fields["dataset"]]:
        del caps[scope]
    for kind, subject, span, cap in fields.get("scopes", ()):
        caps[fields["dataset"], kind, subject, span] = cap


def _warned(scope: Scope, cap: int, windows: _Windows, thresholds: Thresholds) -> Iterator[Warned]:
    dataset, kind, subject, span = scope
    full = sorted(window for window, nano in windows.nano.items() if cap and nano >= thresholds.full * cap)
    in_a_row = _longest_run(full)
    if len(in_a_row) >= thresholds.full_windows:
        yield Warned(
            CODE,
            dataset,
            tuple(sorted(windows.principals)),
            f"{kind} {subject} spent at least {percent(thresholds.full)} of the epsilon {dp.show(cap)} that dataset"
            f" {dataset} allows in a {span}, {len(in_a_row)} times in a row: see whether it asks the same thing bit by"
            " bit, and whether the lifetime bears it",
            len(in_a_row),
            tuple(number for window in in_a_row for number in windows.entries[window]),
        )


def _longest_run(windows: list[int]) -> list[int]:
    """Of windows in ascending order."""
    best: list[int] = []
    run: list[int] = []
    for window in windows:
        run = [*run, window] if run and window == run[-1] + 1 else [window]
        best = max(best, run, key=len)
    return best
