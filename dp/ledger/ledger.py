"""Ledger: what every dataset may cost, what it has cost, and the answers that were paid for."""

from dp.errors import DpError
from dp.ledger import answers
from dp.ledger.answers import Claim, StoredAnswer
from dp.ledger.auditing import Auditing
from dp.ledger.charge import Bid, charge_or_serve
from dp.ledger.declaring import Declaring
from dp.ledger.errors import StoredAnswerError
from dp.ledger.limits.room import convert_ahead
from dp.ledger.log import recovery
from dp.ledger.place import Place
from dp.request import Request


class Ledger(Declaring, Auditing):
    """The ledger in one database. Safe for threads and processes; each call is one committed transaction.

    engine: of a database of its own on SQLite, or of any schema on PostgreSQL.
    audit: signs the log. question: its key never changes. sealer: for question texts and answers.
    now: microseconds since 1970, UTC. draw: that many random bytes.
    Every method raises LedgerUnavailableError when the database does not answer, and, before anything is written,
    SchemaVersionError when its tables are missing or of another version and AuditError when others sign its log.
    """

    def charge(self, request: Request) -> Claim | bytes:
        """Spend the request's price, before the data is read; or the stored answer if there is one.

        A request with an id that was here before gets what became of it: answers, errors, never a second charge.
        Raises: BudgetExhaustedError, QuestionPriceError, StaleEpochError, UnknownDatasetError, or RequestIdError where
            the id was another question's, each logged, nothing spent; NotReleasedError where the id's charge has no
            answer, or none yet; StoredAnswerError.
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
        if bid.asked.is_converted:
            with self._snapshot() as connection:
                convert_ahead(connection, bid.asked, self._log.now())
        outcome = self._run(lambda c, unsure: charge_or_serve(c, self._log, bid, unsure=unsure))
        if isinstance(outcome, DpError):
            raise outcome
        return outcome if isinstance(outcome, Claim) else self._open(outcome)

    def store(self, claim: Claim, answer: bytes) -> bytes:
        """Store the answer, unless the question has one; give the answer that stands, which is the one to release.

        Raises: StoredAnswerError; NotReleasedError where the charge is marked as unreleased, by recover() perhaps.
        """
        sealed = self._sealer.seal(answer, claim.place.answer_aad(claim.attempt))
        outcome = self._run(lambda c, _: answers.store_first(c, self._log, claim, sealed))
        if isinstance(outcome, DpError):
            raise outcome
        return self._open(outcome)

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
        with self._snapshot() as connection:
            return recovery.pending(connection, before, after)

    def _open(self, stored: StoredAnswer) -> bytes:
        try:
            return self._sealer.open(stored.sealed, stored.place.answer_aad(stored.attempt))
        except Exception:  # noqa: BLE001  (whatever a sealer raises, it may carry what it was given)
            failure = StoredAnswerError(stored.place.dataset)
        raise failure
