"""Opened ledger: the ledger that a policy names, with its keys from the keyring. No row and no value is near it."""

from sqlalchemy import Engine, create_engine

from dp.ledger import Ledger
from kms import Keyring, close_before_fork
from vault.ledger_keys import LedgerAuditMacs, LedgerSealer, question_mac
from vault.policy import Policy

__all__ = ["ledger_engine", "open_ledger"]


def open_ledger(policy: Policy, keyring: Keyring) -> Ledger:
    """Its tables are made by declare_budgets()."""
    return Ledger(
        ledger_engine(policy.ledger_url),
        audit=LedgerAuditMacs(keyring),
        question=question_mac(keyring),
        sealer=LedgerSealer(keyring),
    )


def ledger_engine(url: str) -> Engine:
    engine = create_engine(url, hide_parameters=True)
    close_before_fork(engine)  # else the charges of a daemon could be lost
    return engine
