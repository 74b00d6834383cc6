"""A finding: what one check saw, and whether that is as it should be. Nothing in it comes from anybody's data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# A right installation fails a check of samples one time in a million.
FALSE_ALARM: Final = 1e-6


class Verdict(StrEnum):
    """skipped: this platform cannot do what is checked, so that there is nothing to go wrong either."""

    PASS = "pass"  # noqa: S105  (no password)
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """statistic: what was measured, in the unit that `check` says. p_value: None where nothing was left to chance."""

    check: str
    statistic: float | None
    p_value: float | None
    verdict: Verdict


def judged(check: str, statistic: float, *, right: bool) -> Finding:
    """Of a check that is not left to chance."""
    return Finding(check, statistic, None, Verdict.PASS if right else Verdict.FAIL)
