"""Consent: what an operator says with a change of a budget: why, and that much privacy loss is meant."""

from dataclasses import dataclass
from typing import Final

from dp.errors import ParameterError
from dp.ledger.errors import SoftLimitError
from dp.nano import NANO, show
from dp.request import require_text

# Ours: a loss of e**10 in odds within a year protects hardly anybody.
SOFT_LIMIT_NANO: Final = 10 * NANO


@dataclass(frozen=True, slots=True)
class Consent:
    """reason: goes into the log. accepted: also above the soft limit.

    soft_limit_nano: what a year may cost one person before that is asked for.
    """

    reason: str = ""
    accepted: bool = False
    soft_limit_nano: int = SOFT_LIMIT_NANO

    def __post_init__(self) -> None:
        require_text("reason", self.reason)

    def require(self, what: str, before: int | None, after: int) -> tuple[str, ...]:
        """What to warn of. before, after: what a year may cost, in nano-epsilon; None before the first declaration.

        Raises: ParameterError for a change without a reason; SoftLimitError where more was not accepted.
        """
        if before is not None and not self.reason.strip():
            raise ParameterError("reason", f"{what} was declared before; say why it changes, for the audit log")
        if after <= self.soft_limit_nano:
            return ()
        if before is not None and after > before and not self.accepted:
            raise SoftLimitError(what, after, self.soft_limit_nano)
        return (f"{what} may cost one person epsilon {show(after)} a year, above {show(self.soft_limit_nano)}",)
