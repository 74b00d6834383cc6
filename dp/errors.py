"""The errors of dp: one root, and no message or attribute that ever holds a data value."""

from datetime import UTC, datetime
from typing import Final

from dp.nano import show, show_atto

YEAR_10000: Final = 253_402_300_800 * 10**6  # whose days no calendar of Python has; a clock may say so


class DpError(Exception):
    """The root of every error that this package raises on purpose."""


class ParameterError(DpError):
    """A public parameter (epsilon, a bound, a cap, a grid, a column's type) cannot be used.

    It is raised before anything is charged or read, and depends on the parameters alone.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        self.parameter = parameter
        super().__init__(f"{parameter}: {problem}")


class BudgetExhaustedError(DpError):
    """The answer would cost more than what a budget of the dataset has left. Nothing was charged."""

    def __init__(
        self,
        dataset: str,
        asked: int,
        remaining: int,
        unit: str = "epsilon",
        *,
        scope: str = "",
        refills_at: int | None = None,
    ) -> None:
        """asked, remaining: of the unit that is short: epsilon or rho in 1e-9, or delta in 1e-18.

        scope: whose budget it is, where it is not the lifetime of the dataset alone. refills_at: when the question will
            fit if nothing else is asked, in microseconds since 1970, UTC; None for never.
        """
        self.dataset = dataset
        self.asked = asked
        self.remaining = remaining
        self.unit = unit
        self.scope = scope
        self.refills_at = refills_at
        costs, left = (show_atto(n) if unit == "delta" else show(n) for n in (asked, remaining))
        whose = f"{scope} of dataset {dataset!r}" if scope else f"dataset {dataset!r}"
        smaller = f"ask with a smaller {unit}" if remaining or unit == "epsilon" else "ask in epsilon alone"
        why = "" if remaining or unit == "epsilon" else f" (without a lifetime delta there is no {unit} to spend)"
        if refills_at is not None and refills_at < YEAR_10000:
            smaller += f", wait until {datetime.fromtimestamp(refills_at // 1_000_000, UTC):%Y-%m-%d %H:%M} UTC"
        super().__init__(
            f"this answer costs {unit} {costs} a person and {whose} has {left} left{why};"
            f" {smaller}, or ask again a question that was answered before, which costs nothing"
        )


class AnswerFormatError(DpError):
    """Stored bytes are not an answer in canonical form: they were changed, or a newer version wrote them."""


class LedgerError(DpError):
    """The ledger cannot do what it was asked; the root of its own errors."""


class UnknownDatasetError(LedgerError):
    """The ledger has no budget for a dataset of this name."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(f"dataset {dataset!r} has no budget in this ledger; declare its lifetime epsilon first")


class RequestIdError(LedgerError):
    """The principal used this request id before, for another question. Nothing was charged."""

    def __init__(self, dataset: str) -> None:
        """dataset: of the new question."""
        self.dataset = dataset
        super().__init__(
            f"this request id was used before, for another question than this one of dataset {dataset!r}: give each"
            " question (each text, price and epoch) an id of its own, and the same id only to the same question again"
        )


class NotReleasedError(LedgerError):
    """The charge was made and no answer was released. The charge stays; a new request is a new charge."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(
            f"charged, not released: no answer could be given for dataset {dataset!r}, and the charge stays spent;"
            " tell an operator, who finds it in the audit log; to ask again is to be charged again, except by the same"
            " request id"
        )


class TooLateError(DpError):
    """The last moment for an answer passed before there was one. Whoever asked is told NotReleasedError if anything."""


class AuditError(LedgerError):
    """The audit log does not add up: an entry was changed, removed, added or moved."""


class SchemaVersionError(LedgerError):
    """The ledger's tables are missing, or were made by another version of this package."""
