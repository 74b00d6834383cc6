"""The ledger: what datasets may cost and have cost, in SQL, with a log that shows when it was touched."""

from dp.ledger.answers import Claim
from dp.ledger.audit import AuditHead
from dp.ledger.budget import Status
from dp.ledger.errors import LedgerUnavailableError, StaleEpochError, StoredAnswerError
from dp.ledger.keys import AuditMacs, Mac, Sealer
from dp.ledger.ledger import Ledger
from dp.ledger.verify import AuditReport

__all__ = [
    "AuditHead",
    "AuditMacs",
    "AuditReport",
    "Claim",
    "Ledger",
    "LedgerUnavailableError",
    "Mac",
    "Sealer",
    "StaleEpochError",
    "Status",
    "StoredAnswerError",
]
