"""Exact figures, computed from the CSV itself and not through the vault, to hold the noisy answers against."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exact:
    """Of one site: rows, and the values' sum as they are and clamped."""

    rows: int
    total: float
    clamped: float


def by_site(records: Iterable[Mapping[str, str]], column: str, lower: float, upper: float) -> dict[int, Exact]:
    """The exact figures of `column` for each site; clamped to the bounds that the policy declares."""
    values: dict[int, list[float]] = defaultdict(list)
    for record in records:
        values[int(record["site"])].append(float(record[column]))
    return {
        site: Exact(len(of), sum(of), sum(min(max(value, lower), upper) for value in of))
        for site, of in sorted(values.items())
    }
