"""Collecting: the figures of a quarter, from the entries of the audit log in their order, and from nothing else."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dp.accounting.either_rule import Limits
from dp.epsilon import laplace_rho
from vault.reporting.account import accounts
from vault.reporting.amount import NOTHING, Amount
from vault.reporting.figures import (
    AnalystFigures,
    Change,
    DatasetFigures,
    Lifetime,
    LogFigures,
    ScopeFigures,
    Unanswered,
)
from vault.reporting.quarter import Quarter
from vault.reporting.shared_sums import SharedSums

__all__ = ["Collector"]

# What each entry has, beside what it is about.
OF_EACH: Final = frozenset({"at", "dataset", "format", "key", "kind", "name", "previous", "reason", "sequence"})
CHANGES: Final = frozenset({"policy", "epoch", "lifetime"})
FIRST_EPOCH: Final = 1


@dataclass(slots=True)
class _Analyst:
    spent: Amount = NOTHING
    repeats: int = 0
    refusals: int = 0


@dataclass(slots=True)
class _Dataset:
    """What is known so far. waiting: charges of the quarter without an answer, by their id, with what caused it."""

    days: list[Amount]
    epoch: int = FIRST_EPOCH
    lifetime: Lifetime | None = None
    before: Amount = NOTHING
    batches_before: Amount = NOTHING
    batches: Amount = NOTHING
    analysts: dict[str, _Analyst] = field(default_factory=dict)
    caps: dict[tuple[str, str, str], int] = field(default_factory=dict)
    scopes: dict[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    waiting: dict[str, tuple[int, Amount]] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)

    def analyst(self, entry: Mapping[str, Any]) -> _Analyst:
        return self.analysts.setdefault(entry["principal"], _Analyst())

    @property
    def until_now(self) -> Amount:
        return Amount.sum((self.before, *self.days))


class Collector:
    """Grows entry by entry. Whether an entry is of the quarter says its own `at`, also where a clock was set back."""

    def __init__(self, quarter: Quarter) -> None:
        self._quarter = quarter
        self._datasets: dict[str, _Dataset] = {}
        self._shared: dict[str, SharedSums] = {}
        self._changes: list[Change] = []
        self._kinds: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._later = 0
        self._begins_at: int | None = None

    def add(self, entry: Mapping[str, Any]) -> None:
        """One entry, as verify_audit() tells it."""
        at, kind = entry["at"], entry["kind"]
        self._begins_at = at if self._begins_at is None else self._begins_at
        if at >= self._quarter.end:
            self._later += 1
        elif at >= self._quarter.begin:
            self._kinds[kind] += 1
            if kind == "event":
                self._events[entry["what"]] += 1
            if kind in CHANGES:
                self._changes.append(_change(entry))
        if kind == "lifetime" and at < self._quarter.end:
            spent = {name: dataset.until_now for name, dataset in self._datasets.items()}
            declared = _lifetime(entry)
            self._shared.setdefault(entry["name"], SharedSums(declared)).declare(entry, declared, spent)
        if "dataset" in entry:
            self._add_to(self._dataset(entry["dataset"]), entry)

    def _dataset(self, name: str) -> _Dataset:
        return self._datasets.setdefault(name, _Dataset([NOTHING] * self._quarter.days))

    def _add_to(self, dataset: _Dataset, entry: Mapping[str, Any]) -> None:
        kind, at = entry["kind"], entry["at"]
        # An answer after the quarter's end is one all the same.
        if kind == "answer":
            dataset.waiting.pop(entry["charge"], None)
        elif kind == "unreleased" and entry["charge"] in dataset.waiting:
            dataset.causes[entry["charge"]] = entry["cause"]
        if at >= self._quarter.end:
            return
        if kind == "policy":
            dataset.lifetime = _lifetime(entry)
            dataset.caps = {(kind, subject, span): cap for kind, subject, span, cap in entry.get("scopes", ())}
        elif kind == "epoch":
            dataset.epoch = entry["epoch"]
        elif kind == "charge":
            self._charge(dataset, entry)
        elif kind == "repeat" and at >= self._quarter.begin:
            dataset.analyst(entry).repeats += 1
        elif kind == "refusal" and at >= self._quarter.begin:
            dataset.analyst(entry).refusals += 1
            short = entry.get("short", "")
            dataset.refusals[f"{entry['reason']}: {short}" if short else entry["reason"]] += 1

    def _charge(self, dataset: _Dataset, entry: Mapping[str, Any]) -> None:
        amount, batch = Amount.of(entry), _is_batch(entry)
        for shared in self._shared.values():
            shared.charge(entry["dataset"], amount, in_quarter=entry["at"] >= self._quarter.begin)
        if entry["at"] < self._quarter.begin:
            dataset.before = dataset.before.plus(amount)
            dataset.batches_before = dataset.batches_before.plus(amount) if batch else dataset.batches_before
            return
        day = self._quarter.day_of(entry["at"])
        dataset.days[day] = dataset.days[day].plus(amount)
        dataset.batches = dataset.batches.plus(amount) if batch else dataset.batches
        analyst = dataset.analyst(entry)
        analyst.spent = analyst.spent.plus(amount)
        dataset.waiting[entry["charge"]] = (entry["sequence"], amount)
        for kind, subject, span, _, nano in entry.get("scopes", ()):
            charges, spent = dataset.scopes.get((kind, subject, span), (0, 0))
            dataset.scopes[kind, subject, span] = (charges + 1, spent + nano)

    def figures(self) -> LogFigures:
        datasets = sorted(self._datasets.items())
        return LogFigures(
            tuple(self._figures(name, one) for name, one in datasets if _was_there(one)),
            tuple(shared.figures(name) for name, shared in sorted(self._shared.items())),
            tuple(self._changes),
            dict(sorted(self._kinds.items())),
            dict(sorted(self._events.items())),
            self._later,
            self._begins_at,
        )

    def _figures(self, name: str, of: _Dataset) -> DatasetFigures:
        spent, weeks = Amount.sum(of.days), [NOTHING] * len(self._quarter.weeks)
        for day, amount in enumerate(of.days):
            week = self._quarter.week_of_day(day)
            weeks[week] = weeks[week].plus(amount)
        conversion = 0 if of.lifetime is None else of.lifetime.atto_delta - of.lifetime.limits.atto_delta
        batches = (of.batches, of.batches_before.plus(of.batches))
        return DatasetFigures(
            name,
            of.epoch,
            of.lifetime,
            of.before,
            spent,
            tuple(weeks),
            tuple(of.days),
            tuple(AnalystFigures(who, a.spent, a.repeats, a.refusals) for who, a in sorted(of.analysts.items())),
            tuple(
                ScopeFigures(*scope, of.caps.get(scope), *of.scopes.get(scope, (0, 0)))
                for scope in sorted(of.caps.keys() | of.scopes.keys())
            ),
            dict(sorted(of.refusals.items())),
            sum(analyst.repeats for analyst in of.analysts.values()),
            _unanswered(of),
            accounts(spent, of.before.plus(spent), conversion, batches),
        )


def _was_there(dataset: _Dataset) -> bool:
    """Whether anything was known of it before the quarter ended."""
    return dataset.lifetime is not None or bool(dataset.analysts) or dataset.before != NOTHING


def _lifetime(entry: Mapping[str, Any]) -> Lifetime:
    limits = Limits(entry["lifetime_nano_epsilon"], entry["question_atto_delta"], entry["lifetime_nano_rho"])
    return Lifetime(limits, entry["lifetime_atto_delta"])


def _is_batch(entry: Mapping[str, Any]) -> bool:
    """The rho of one question's epsilon follows from it; that of a batch is the sum of its questions'."""
    return not entry["unbounded"] and entry["nano_rho"] != laplace_rho(entry["nano_epsilon"])


def _change(entry: Mapping[str, Any]) -> Change:
    members = {name: value for name, value in sorted(entry.items()) if name not in OF_EACH}
    return Change(
        entry["sequence"],
        entry["at"],
        entry["kind"],
        entry.get("dataset", entry.get("name", "")),
        entry.get("reason", ""),
        members,
    )


def _unanswered(dataset: _Dataset) -> tuple[Unanswered, ...]:
    by_cause: dict[str, list[tuple[int, Amount]]] = {}
    for charge, one in dataset.waiting.items():
        by_cause.setdefault(dataset.causes.get(charge, ""), []).append(one)
    return tuple(
        Unanswered(cause, Amount.sum(amount for _, amount in those), tuple(sequence for sequence, _ in those))
        for cause, those in sorted(by_cause.items())
    )
