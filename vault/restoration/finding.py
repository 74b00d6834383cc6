"""Restore finding: one thing that is not as it was before a database was put back from a backup."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "FindingKind"]


class FindingKind(StrEnum):
    """What is not as it was. steps.py says what to do about each."""

    SCHEMA = "table or column is lacking"
    NO_KEYRING = "keyring is lacking"
    KEY_UNKNOWN = "unknown key"
    KEY_DESTROYED = "destroyed key"
    KEY_RETIRED = "retired key"
    KEY_EARLY = "key of later use"
    SEQUENCE_GAP = "key row is lacking"
    COUNTER_BACK = "seal counter went back"
    GENERATION_UNKNOWN = "unknown generation"
    SLOT_OTHER = "terms of another slot"
    TERM_LACKING = "terms are lacking"
    MODE_BACK = "mode went back"
    MODE_AHEAD = "mode is ahead"
    PROOF_STALE = "proof does not hold"
    KEK_FAILS = "key does not unwrap"
    KEK_AWAY = "key service does not answer"
    LEDGER_LACKING = "ledger is lacking"
    LEDGER_BACK = "audit head went back"
    LEDGER_OTHER = "another audit log"
    LEDGER_BROKEN = "audit log is not whole"
    LEDGER_COUNTER = "ledger seal counter went back"
    LEDGER_KEY = "ledger key"


@dataclass(frozen=True, slots=True)
class Finding:
    """count: of rows, values, terms, keys or entries, as text says. where: table and column, keyring or ledger.

    key_id: of the key that it is about, empty where it is about none.
    """

    kind: FindingKind
    where: str
    count: int
    text: str
    key_id: bytes = b""
