"""The ledger: what datasets may cost and have cost, in SQL, with a log that shows when it was touched."""

from dp.ledger.answers import Claim
from dp.ledger.errors import (
    LedgerUnavailableError,
    QuestionPriceError,
    SoftLimitError,
    StaleEpochError,
    StoredAnswerError,
)
from dp.ledger.keys import AuditMacs, Mac, Sealer
from dp.ledger.ledger import Ledger
from dp.ledger.limits.budget import Status
from dp.ledger.limits.budgets import Budgets, Scope, SharedLifetime
from dp.ledger.limits.scope_status import ScopeStatus
from dp.ledger.limits.shared import SharedStatus
from dp.ledger.log.audit import AuditHead
from dp.ledger.log.events import Event
from dp.ledger.policy_change import Declaration
from dp.ledger.verifying.entries import Wanted
from dp.ledger.verifying.export import verify_export
from dp.ledger.verifying.verify import AuditReport

__all__ = [
    "AuditHead",
    "AuditMacs",
    "AuditReport",
    "Budgets",
    "Claim",
    "Declaration",
    "Event",
    "Ledger",
    "LedgerUnavailableError",
    "Mac",
    "QuestionPriceError",
    "Scope",
    "ScopeStatus",
    "Sealer",
    "SharedLifetime",
    "SharedStatus",
    "SoftLimitError",
    "StaleEpochError",
    "Status",
    "StoredAnswerError",
    "Wanted",
    "verify_export",
]
