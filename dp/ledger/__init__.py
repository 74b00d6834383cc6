"""The ledger: what datasets may cost and have cost, in SQL, with a log that shows when it was touched."""

from dp.ledger.answers import Claim
from dp.ledger.audit import AuditHead
from dp.ledger.budget import Status
from dp.ledger.budgets import Budgets, Scope, SharedLifetime
from dp.ledger.entries import Wanted
from dp.ledger.errors import (
    LedgerUnavailableError,
    QuestionPriceError,
    SoftLimitError,
    StaleEpochError,
    StoredAnswerError,
)
from dp.ledger.events import Event
from dp.ledger.export import verify_export
from dp.ledger.keys import AuditMacs, Mac, Sealer
from dp.ledger.ledger import Ledger
from dp.ledger.policy_change import Declaration
from dp.ledger.scope_status import ScopeStatus
from dp.ledger.shared import SharedStatus
from dp.ledger.verify import AuditReport

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
