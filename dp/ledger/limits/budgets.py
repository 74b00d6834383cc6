"""Budgets: all that an operator declares of one dataset: its lifetime, and the scopes that narrow it down."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dp.epsilon import MAX_NANO_EPSILON
from dp.errors import ParameterError
from dp.ledger.limits.budget import MAX_LIFETIME_NANO, require_lifetime
from dp.ledger.limits.spans import SPANS
from dp.request import require_name

KINDS: Final = ("dataset", "column", "analyst", "group")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """What a budget is of, over which time, and how much it is, in nano-epsilon. It counts from its declaration on.

    kind: dataset (all questions), column (those that aggregate, group or filter by it), analyst, or group of analysts.
    subject: the name of the column, analyst or group; empty for the dataset, and for each analyst who has no scope of
        their own of this span.
    span: day, week, month, quarter or ever.

    Raises: ParameterError.
    """

    kind: str
    subject: str
    span: str
    cap_nano: int

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("kind", f"a scope is of one of {', '.join(KINDS)}")
        if self.span not in SPANS:
            raise ParameterError("span", f"a scope is over one of {', '.join(SPANS)}")
        if self.kind == "dataset" and (self.subject or self.span == "ever"):
            raise ParameterError("scope", "a dataset's has no subject, and what it may cost for ever is its lifetime")
        if self.subject or self.kind in {"column", "group"}:
            require_name("subject", self.subject)
        if type(self.cap_nano) is not int or not 0 <= self.cap_nano <= MAX_LIFETIME_NANO:
            raise ParameterError("cap_nano", "it must be an int from 0 to 10**14 (epsilon 100000)")

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from every other scope of its dataset."""
        return self.kind, self.subject, self.span


@dataclass(frozen=True, slots=True)
class Budgets:
    """lifetime_nano, least_nano, most_nano: in nano-epsilon. lifetime_atto_delta: in units of 1e-18.

    scopes, members: sorted, each once. members: pairs of a group and a principal in it.
    least_nano, most_nano: what one question, or one batch, may cost; 0 for no such limit. What has no epsilon costs
        what its rho converts to at the lifetime's delta.
    source: 64 hexadecimal digits that say where the rows are, empty where that is not known. Datasets of one source are
        copies, and share a lifetime.
    separate: why this copy has a lifetime of its own nevertheless, in up to 190 characters; empty where it has not.

    Raises: ParameterError naming the field.
    """

    lifetime_nano: int
    lifetime_atto_delta: int = 0
    scopes: tuple[Scope, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    least_nano: int = 0
    most_nano: int = 0
    source: str = ""
    separate: str = ""

    def __post_init__(self) -> None:
        require_lifetime(self.lifetime_nano, self.lifetime_atto_delta)
        if not _all_are(Scope, self.scopes):
            raise ParameterError("scopes", "it must be a tuple of Scope")
        if not _all_are(tuple, self.members) or any(len(pair) != 2 for pair in self.members):
            raise ParameterError("members", "it must be a tuple of pairs: a group, and a principal in it")
        for group, principal in self.members:
            require_name("members", group)
            require_name("members", principal)
        object.__setattr__(self, "scopes", tuple(sorted(self.scopes)))
        object.__setattr__(self, "members", tuple(sorted(self.members)))
        _require_once("scopes", [scope.key for scope in self.scopes])
        _require_once("members", self.members)
        if {group for group, _ in self.members} - {scope.subject for scope in self.scopes if scope.kind == "group"}:
            raise ParameterError("members", "give each group a scope: what it may spend, and over which time")
        for name, nano in (("least_nano", self.least_nano), ("most_nano", self.most_nano)):
            if type(nano) is not int or not 0 <= nano <= MAX_NANO_EPSILON:
                raise ParameterError(name, "it must be an int from 0 to 10**18")
        if self.most_nano and self.least_nano > self.most_nano:
            raise ParameterError("least_nano", "it is above most_nano, so that no question could be asked")
        if not isinstance(self.source, str) or (self.source and not _DIGEST.fullmatch(self.source)):
            raise ParameterError("source", "it must be 64 hexadecimal digits in lower case, or empty")
        if self.separate != "":
            require_name("separate", self.separate)

    @property
    def yearly_nano(self) -> int:
        """What may be spent within a year by all together: the least of the lifetime and what the windows allow."""
        windows = (scope.cap_nano * SPANS[scope.span].a_year for scope in self.scopes if scope.kind == "dataset")
        return min(self.lifetime_nano, *windows, self.lifetime_nano)


@dataclass(frozen=True, slots=True)
class SharedLifetime:
    """One lifetime over several datasets, as Budgets has one over each. datasets: sorted, each once.

    Raises: ParameterError naming the field.
    """

    name: str
    lifetime_nano: int
    lifetime_atto_delta: int = 0
    datasets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_name("name", self.name)
        require_lifetime(self.lifetime_nano, self.lifetime_atto_delta)
        if not _all_are(str, self.datasets):
            raise ParameterError("datasets", "it must be a tuple of names")
        for dataset in self.datasets:
            require_name("datasets", dataset)
        object.__setattr__(self, "datasets", tuple(sorted(self.datasets)))
        _require_once("datasets", self.datasets)


def _all_are(kind: type, values: object) -> bool:
    return type(values) is tuple and all(isinstance(value, kind) for value in values)


def _require_once(parameter: str, values: Sequence[object]) -> None:
    if len(set(values)) < len(values):
        raise ParameterError(parameter, "one is there twice; leave the second one out")
