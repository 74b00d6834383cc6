"""Counter: a scope at the time of a charge: its cap, and what its window holds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dp.ledger.limits.budget import MAX_SUM
from dp.ledger.limits.spans import SPANS
from dp.ledger.limits.windows import Window

Key = tuple[str, str, str]  # kind, subject, span


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """As the table has it. cap_nano: None where the scope has none of its own."""

    kind: str
    subject: str
    span: str
    cap_nano: int | None
    bucket: int
    nano: int


@dataclass(frozen=True, slots=True)
class Counter:
    """cap_nano: None where it only counts. stored: the window of its row, None where there is none yet.

    window: the same, at the time of the charge.
    """

    kind: str
    subject: str
    cap_nano: int | None
    stored: Window | None
    window: Window

    @property
    def key(self) -> Key:
        return self.kind, self.subject, self.window.span.name

    @property
    def remaining(self) -> int:
        """Never negative: a cap that was lowered below what is spent leaves 0."""
        return max(0, (MAX_SUM if self.cap_nano is None else self.cap_nano) - self.window.nano)

    def __str__(self) -> str:
        span = self.window.span.name
        budget = "the budget for ever" if span == "ever" else f"the budget of a {span}"
        return budget if self.kind == "dataset" else f"{budget} of {self.kind} {self.subject!r}"


def counters_of(
    rows: Iterable[ScopeRow], principal: str, at: int, sum_from: Callable[[Key], Callable[[int], int]]
) -> tuple[Counter, ...]:
    """The counters that a charge by the principal counts against, of the rows that apply.

    rows: of analysts, the principal's own and those of each analyst. A span that both have is the own row's; where that
        has no cap, each analyst's holds. A principal without a row gets one with the first charge.
    at: microseconds since 1970, UTC. sum_from: of a scope, what its buckets from one on add up to.
    """
    ordered = sorted(rows, key=lambda row: (row.kind, row.subject, row.span))
    each_analyst = {row.span: row.cap_nano for row in ordered if row.kind == "analyst" and not row.subject}
    own = {row.span for row in ordered if row.kind == "analyst" and row.subject}

    def made() -> Iterator[Counter]:
        for row in ordered:
            span = SPANS[row.span]
            if row.kind != "analyst" or row.subject:
                stored = Window(span, row.bucket, row.nano)
                cap = each_analyst.get(row.span) if row.kind == "analyst" and row.cap_nano is None else row.cap_nano
                window = stored.at(at, sum_from((row.kind, row.subject, row.span)))
                yield Counter(row.kind, row.subject, cap, stored, window)
            elif row.span not in own and row.cap_nano is not None:
                yield Counter("analyst", principal, row.cap_nano, None, Window(span, span.at(at)))

    return tuple(made())
