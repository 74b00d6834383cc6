"""A ledger with one dataset, on each kind of database."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine

from dp.ledger.ledger import Ledger
from tests.dp.ledger.sealing import AuditKeys, ledger_on

EPSILON = 10**9


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def audit_keys() -> AuditKeys:
    return AuditKeys()


@pytest.fixture
def ledger(engine: Engine, audit_keys: AuditKeys) -> Ledger:
    """Dataset "people" may cost epsilon 1."""
    ledger = ledger_on(engine, audit=audit_keys)
    ledger.create_schema()
    ledger.declare("people", EPSILON)
    return ledger
