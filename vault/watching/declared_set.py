"""Declared set: which values of a column's declared domain some conditions allow, and how large a share that is.

The domain is the labels of a column's groups, or its bounds in steps. Of the unit's own column each value is one unit,
and so nothing beside all of them; of a text whose labels nobody declared it is taken to be so too. Where a column of
numbers has no bounds nobody said how many values there are, and its conditions count as if they let all pass.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final

from vault.expression import Comparison, Value
from vault.policy import GroupLabel, Policy

__all__ = ["Domain", "Places", "allowed", "domain_of", "share"]

# Ours: of a domain of single values, more than anybody lists.
UNCOUNTED: Final = 10**18


@dataclass(frozen=True, slots=True)
class Domain:
    """labels: where there are such. step, lower, upper: of bounds, in steps. size: how many values there are."""

    labels: tuple[GroupLabel, ...] = ()
    step: Fraction = Fraction(1)
    lower: int = 0
    upper: int = UNCOUNTED - 1
    of_singles: bool = False

    @property
    def size(self) -> int:
        return len(self.labels) or self.upper - self.lower + 1


@dataclass(frozen=True, slots=True)
class Places:
    """Places of the domain, from 0 to its size, as ranges: sorted, apart, each with its last place."""

    ranges: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        return sum(last + 1 - first for first, last in self.ranges)

    def without(self, other: "Places") -> "Places":
        """Those that the other has not."""
        left: list[tuple[int, int]] = []
        for first, last in self.ranges:
            at = first
            for low, high in other.ranges:
                if low <= last and high >= at:
                    if low > at:
                        left.append((at, low - 1))
                    at = max(at, high + 1)
            if at <= last:
                left.append((at, last))
        return Places(tuple(left))

    def common(self, other: "Places") -> "Places":
        return self.without(self.without(other))


def domain_of(policy: Policy, dataset: str, column: str) -> Domain | None:
    """None where nobody said which values there are."""
    rules = policy.dataset[dataset]
    if column in rules.groups:
        return Domain(labels=rules.groups[column])
    if column in rules.bounds:
        grid = policy.grid(dataset, column)
        return Domain(step=grid.step, lower=grid.lower, upper=grid.upper)
    declared = policy.table[rules.table].column.get(column)
    if column == rules.unit or (declared is not None and declared.type == "str"):
        return Domain(of_singles=True)
    return None


def allowed(domain: Domain, conditions: Iterable[Comparison]) -> Places:
    """The places that meet all the conditions, which are about one column."""
    places = Places(((0, domain.size - 1),))
    for one in conditions:
        met = _met(domain, one)
        places = places.without(met) if one.operator == "!=" else places.common(met)
    return places


def share(domain: Domain, places: Places) -> Fraction:
    return Fraction(places.size, domain.size)


def _met(domain: Domain, one: Comparison) -> Places:
    """Of `!=` what it forbids."""
    if domain.labels:
        return _points({at for at, label in enumerate(domain.labels) if _meets(label, one)})
    if domain.of_singles:
        single = one.operator in ("=", "in", "!=")
        return _points(set(map(_somewhere, one.values))) if single else Places(((0, UNCOUNTED - 1),))
    values = [Fraction(value) / domain.step - domain.lower for value in one.values if isinstance(value, Decimal)]
    most = domain.size - 1
    match one.operator:
        case "=" | "in" | "!=":
            return _points({round(value) for value in values if 0 <= round(value) <= most})
        case "<" | "<=":
            last = floor(values[0]) - (one.operator == "<" and values[0].denominator == 1)
            return Places(((0, min(last, most)),) if last >= 0 else ())
        case _:
            first = ceil(values[0]) + (one.operator == ">" and values[0].denominator == 1)
            return Places(((max(first, 0), most),) if first <= most else ())


def _meets(label: GroupLabel, one: Comparison) -> bool:
    value = label if isinstance(label, str) else Decimal(label)
    if isinstance(value, str) or isinstance(one.value, str):
        return value in one.values
    match one.operator:
        case "<":
            return value < one.value
        case "<=":
            return value <= one.value
        case ">":
            return value > one.value
        case ">=":
            return value >= one.value
        case _:
            return value in one.values


def _somewhere(value: Value) -> int:
    """One value, one place; two values two places, but for a chance of 1e-18."""
    return int.from_bytes(hashlib.sha256(str(value).encode()).digest()) % UNCOUNTED


def _points(places: Iterable[int]) -> Places:
    return Places(tuple((at, at) for at in sorted(places)))
