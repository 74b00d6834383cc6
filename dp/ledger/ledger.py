"""Ledger: what every dataset may cost, what it has cost, and the answers that were paid for."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from dp.accounting.either_rule import Limits
from dp.errors import DpError
from dp.ledger import answers, policy_change
from dp.ledger.answers import Claim, StoredAnswer
from dp.ledger.audit import AuditHead, AuditLog
from dp.ledger.budget import Status, read_status, require_lifetime
from dp.ledger.budgets import Budgets, SharedLifetime
from dp.ledger.charge import Bid, charge_or_serve
from dp.ledger.checkpoint import head_after
from dp.ledger.entries import Wanted, newest_entries
from dp.ledger.errors import StoredAnswerError
from dp.ledger.events import Event
from dp.ledger.export import export_lines
from dp.ledger.keys import AuditMacs, Mac, Sealer
from dp.ledger.logged import Logged, logged
from dp.ledger.place import Place
from dp.ledger.policy_change import Declaration
from dp.ledger.room import Asked, delta_to_convert_at, stand_alone
from dp.ledger.schema_version import create_schema, require_schema
from dp.ledger.scope_status import ScopeStatus, read_scopes
from dp.ledger.shared import SharedStatus, read_shared, read_shared_of
from dp.ledger.transaction import Transactions
from dp.ledger.verify import AuditReport, verify
from dp.request import Request, require_name, require_text

T = TypeVar("T")


class Ledger:
    """The ledger in one database. Safe for threads and processes; each call is one committed transaction.

    engine: of a database of its own on SQLite, or of any schema on PostgreSQL.
    audit: signs the log. question: its key never changes. sealer: for question texts and answers.
    now: microseconds since 1970, UTC. draw: that many random bytes.
    Every method raises LedgerUnavailableError when the database does not answer, and, before anything is written,
    SchemaVersionError when its tables are missing or of another version and AuditError when others sign its log.
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

    def declare(
        self,
        dataset: str,
        budgets: Budgets | int,
        *,
        lifetime_atto_delta: int = 0,
        reason: str = "",
        accept: bool = False,
        soft_limit_nano: int = SOFT_LIMIT_NANO,
    ) -> Declaration:
        """Set what the dataset may cost one person, all askers together. It is logged where that is a change.

        budgets: all of them; or an int, of the lifetime alone: what else was declared stays, and no reason is asked
            for.
        lifetime_atto_delta: beside an int; 0 for a promise of epsilon alone; otherwise half of it is for the questions'
            own deltas, and half buys a sum of rho that counts where the sum of epsilon is above the lifetime's.
        reason: why they change; not needed for the first ones.
        accept: also where they are raised so that a year may cost one person more than the soft limit. The first ones
            are only warned of.
        Raises: ParameterError, SoftLimitError.
        """
        require_name("dataset", dataset)
        if isinstance(budgets, Budgets):
            consent = Consent(reason, accept, soft_limit_nano)
            return self._run(lambda c, _: policy_change.declare(c, self._log, dataset, budgets, consent))
        require_lifetime(budgets, lifetime_atto_delta)
        return self._run(
            lambda c, _: policy_change.declare_lifetime(c, self._log, dataset, budgets, lifetime_atto_delta)
        )

    def share_lifetime(
        self,
        name: str,
        lifetime_nano: int,
        datasets: Iterable[str],
        *,
        lifetime_atto_delta: int = 0,
        reason: str = "",
        accept: bool = False,
        soft_limit_nano: int = SOFT_LIMIT_NANO,
    ) -> Declaration:
        """Set what several datasets may cost one person together, beside what each may. It begins with what they spent.

        A dataset that is taken out leaves what it has spent behind, and brings along all of it when it comes back.
        Raises: ParameterError, SoftLimitError, UnknownDatasetError.
        """
        if name.startswith(OWN_NAME):
            raise ParameterError("name", f"lifetimes called {OWN_NAME!r}... are the ledger's own; choose another")
        shared = SharedLifetime(name, lifetime_nano, lifetime_atto_delta, tuple(datasets))
        consent = Consent(reason, accept, soft_limit_nano)
        return self._run(lambda c, _: policy_change.share_lifetime(c, self._log, shared, consent))

    def budgets(self, dataset: str) -> Budgets:
        """As they were declared last. Raises: UnknownDatasetError."""
        return self._read(lambda c: policy_change.require_declared(read_budgets(c, dataset), dataset))

    def shared_lifetime(self, name: str) -> SharedStatus | None:
        """None where there is none of that name."""
        return self._read(lambda c: read_shared(c, name))

    def scopes(self, dataset: str) -> tuple[ScopeStatus, ...]:
        """What each scope that is declared has spent, and every analyst's who asked. Raises: UnknownDatasetError."""
        with self._snapshot() as connection:
            policy_change.require_declared(read_status(connection, dataset), dataset)
            return read_scopes(connection, dataset, self._log.now())

    def shared_lifetimes(self, dataset: str) -> tuple[SharedStatus, ...]:
        """Those that the dataset is under, also such as the ledger made for copies of one source."""
        return self._read(lambda c: read_shared_of(c, dataset))

    def advance_epoch(self, dataset: str, reason: str) -> int:
        """Say that the data is new: questions get new answers, at a new charge. The budget is the same one.

        Raises: UnknownDatasetError.
        """
        require_text("reason", reason)
        return self._run(lambda c, _: policy_change.advance_epoch(c, self._log, dataset, reason))

    def epoch_since(self, dataset: str) -> int:
        """When the dataset's epoch was advanced last, or else when it was declared; in microseconds since 1970, UTC.

        Raises: UnknownDatasetError.
        """
        return self._read(lambda c: policy_change.require_declared(epoch_since(c, dataset), dataset))

    def status(self, dataset: str) -> Status:
        """Raises: UnknownDatasetError."""
        return self._read(lambda c: policy_change.require_declared(read_status(c, dataset), dataset))

    def charge(self, request: Request) -> Claim | bytes:
        """Spend the request's price, before the data is read; or the stored answer if there is one.

        A request with an id that was here before gets what became of it: answers, errors, never a second charge.
        Raises: BudgetExhaustedError, StaleEpochError, UnknownDatasetError, or RequestIdError where the id was another
            question's, each logged, nothing spent; NotReleasedError where the id's charge has no answer, or none yet;
            StoredAnswerError.
        """
        place = Place.of(request, self._question)
        charge_id = self._draw(16).hex()
        sealed = self._sealer.seal(request.question_text.encode(), place.question_aad(charge_id))
        bid = Bid(
            charge_id,
            place,
            request.principal,
            request.price,
            sealed,
            request.columns,
            request.column_prices,
            request.request_id,
        )
        self._convert_ahead(bid.asked)
        outcome = self._run(lambda c, unsure: charge_or_serve(c, self._log, bid, unsure=unsure))
        if isinstance(outcome, DpError):
            raise outcome
        return outcome if isinstance(outcome, Claim) else self._open(outcome)

    def store(self, claim: Claim, answer: bytes) -> bytes:
        """Store the answer, unless the question has one; give the answer that stands, which is the one to release.

        Raises: StoredAnswerError.
        """
        sealed = self._sealer.seal(answer, claim.place.answer_aad(claim.attempt))
        return self._open(self._run(lambda c, _: answers.store_first(c, self._log, claim, sealed)))

    def record_unreleased(self, claim: Claim, cause: str) -> None:
        """Log that a charge has no answer, and from now on gets none. Nothing is given back.

        cause: an error's class, for operators. A charge that has an answer, or was marked before, stays as it is.
        """
        self._mark([claim.charge_id], cause)

    def _mark(self, ids: list[str], cause: str) -> int:
        return self._run(lambda c, _: recovery.mark_unreleased(c, self._log, ids, cause))

    def recover(self, older_than: float) -> int:
        """Mark every charge without an answer that is older than so many seconds as unreleased. How many there were.

        It may be called again, at any time and by several processes: who still computes an answer does not get to
        release it, so let it be longer than any question takes. Raises: ParameterError.
        """
        before, after, marked = recovery.moment(self._log.now(), older_than), 0, 0
        while found := self._pending(before, after):
            after, ids = found[-1].audit_sequence, [one.charge_id for one in found]
            marked += self._mark(ids, recovery.RECOVERED)
        return marked

    def has_unanswered(self, older_than: float) -> bool:
        """Whether recover() would mark any charge. Raises: ParameterError."""
        return bool(self._pending(recovery.moment(self._log.now(), older_than), 0))

    def _pending(self, before: int, after: int) -> list[recovery.Pending]:
        return self._read(lambda c: recovery.pending(c, before, after))

    def untold_events(self, told: Iterable[Event]) -> list[Event]:
        """Those of the events that the log has not yet. Nothing is written."""
        with self._snapshot() as connection:
            return events.untold(connection, list(told))

    def record_events(self, told: Iterable[Event]) -> int:
        """Log what happened elsewhere, each event once, however often it is told. How many were new."""
        new, recorded = self.untold_events(told), 0
        for start in range(0, len(new), events.BATCH):
            recorded += self._record(new[start : start + events.BATCH])
        return recorded

    def _record(self, told: list[Event]) -> int:
        return self._run(lambda c, _: events.record(c, self._log, told))

    def head(self, kept: AuditHead | None = None) -> AuditHead:
        """The last entry of the audit log, to be kept elsewhere. kept: an earlier one, from which it must go on.

        It reads two rows and verifies none: verify_audit() does. Raises: AuditError.
        """
        return self._read(lambda c: head_after(c, kept))

    def verify_audit(
        self, at_least: AuditHead | None = None, tell: Callable[[Mapping[str, Any]], object] = lambda _: None
    ) -> AuditReport:
        """Check every entry, counter, charge and answer. at_least: the head of an earlier report, kept elsewhere.

        tell: is given each entry in turn, from the state that is verified; what it made of them is to be thrown away
            when this raises.
        Raises: AuditError naming the first bad entry.
        """
        return self._read(lambda c: verify(c, self._log.macs, at_least))

    def export_audit(self, write: Callable[[bytes], object], at_least: AuditHead | None = None) -> AuditHead:
        """Write the audit log line by line (export.py), for verify_export(); its head is the last line.

        Raises: AuditError naming the first bad entry; what was written by then is no export.
        """
        with self._snapshot() as connection:
            for line in export_lines(connection, self._log, at_least):
                write(line)
            return head_after(connection, None)

    def entries(self, wanted: Wanted) -> list[dict[str, Any]]:
        """The newest entries of the log that are wanted, in its order. Raises: AuditError for one that was changed."""
        with self._snapshot() as connection:
            return newest_entries(connection, self._log.macs, wanted)

    def _convert_ahead(self, asked: Asked) -> None:
        """To an epsilon, which takes a tenth of a second the first time: nobody is to wait for it at the log's head."""
        without = [price for price in (asked.price, *asked.column_prices) if price.nano_epsilon is None]
        if without:
            with self._transactions.snapshot() as connection:
                self._require_schema(connection)
                delta = delta_to_convert_at(connection, asked, self._log.now())
            for price in without if delta else ():
                stand_alone(price, delta)

    def _open(self, stored: StoredAnswer) -> bytes:
        try:
            return self._sealer.open(stored.sealed, stored.place.answer_aad(stored.attempt))
        except Exception:  # noqa: BLE001  (whatever a sealer raises, it may carry what it was given)
            failure = StoredAnswerError(stored.place.dataset)
        raise failure

    def _read(self, read: Callable[[Connection], T]) -> T:
        with self._transactions.snapshot() as connection:
            self._require_schema(connection)
            return read(connection)

    def _run(self, work: Callable[[Connection, bool], T]) -> T:
        def checked(connection: Connection, unsure: bool) -> T:
            self._require_schema(connection)
            self._log_is_ours = self._log_is_ours or self._log.is_ours(connection)
            return work(connection, unsure)

        return self._transactions.run(checked)

    def _require_schema(self, connection: Connection) -> None:
        if not self._schema_is_ours:
            require_schema(connection)
            self._schema_is_ours = True
