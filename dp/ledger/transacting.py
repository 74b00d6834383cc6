"""Transacting: what each call on a ledger goes through, be it to write or to read."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from dp.errors import AuditError
from dp.ledger.keys import AuditMacs, Mac, Sealer
from dp.ledger.log.audit import AuditLog
from dp.ledger.schema_version import create_schema, require_schema
from dp.ledger.store.transaction import Transactions

T = TypeVar("T")


class Transacting:
    """The tables in one database, and the keys. Before its first write both are seen to be those of the log.

    Its arguments are those of Ledger.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        audit: AuditMacs,
        question: Mac,
        sealer: Sealer,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
        draw: Callable[[int], bytes] = os.urandom,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._engine = engine
        self._transactions = Transactions(engine, sleep=sleep)
        self._log = AuditLog(audit, now)
        self._question = question
        self._sealer = sealer
        self._draw = draw
        self._schema_is_ours = False
        self._log_is_ours = False

    def close(self) -> None:
        """Close its connections; whoever uses the ledger afterwards opens new ones."""
        self._engine.dispose()

    def create_schema(self) -> None:
        """Create the tables, unless they are there; bring those of an earlier version to this one.

        Raises: LedgerError for a database in memory.
        """
        create_schema(self._transactions)

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """What reads alone: one state throughout, and nobody waits for it."""
        with self._transactions.snapshot() as connection:
            self._require_schema(connection)
            yield connection

    def _run(self, work: Callable[[Connection, bool], T]) -> T:
        def checked(connection: Connection, unsure: bool) -> T:
            self._require_schema(connection)
            self._log_is_ours = self._log_is_ours or self._log.is_ours(connection)
            return work(connection, unsure)

        try:
            return self._transactions.run(checked)
        except IntegrityError:
            # Under the lock on the head nobody else adds a row: one of that number or random id was there before.
            wrong = AuditError(
                "a table of the ledger has that row already, written by others: verify the audit, restore the ledger"
            )
        raise wrong

    def _require_schema(self, connection: Connection) -> None:
        if not self._schema_is_ours:
            require_schema(connection)
            self._schema_is_ours = True
