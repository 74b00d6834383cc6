"""Auditing: what is read from a ledger's log and checked of it, and what happened elsewhere and is told to it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dp.ledger.log import events
from dp.ledger.log.audit import AuditHead
from dp.ledger.log.checkpoint import head_after
from dp.ledger.log.events import Event
from dp.ledger.transacting import Transacting
from dp.ledger.verifying import logged
from dp.ledger.verifying.entries import Wanted, newest_entries
from dp.ledger.verifying.export import export_lines
from dp.ledger.verifying.verify import AuditReport, verify


class Auditing(Transacting):
    """The log of all that was asked, charged, answered, refused and changed."""

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
        with self._snapshot() as connection:
            return head_after(connection, kept)

    def verify_audit(
        self, at_least: AuditHead | None = None, tell: Callable[[Mapping[str, Any]], object] | None = None
    ) -> AuditReport:
        """Check every entry, counter, charge and answer. at_least: the head of an earlier report, kept elsewhere.

        tell: is given each entry in turn, from the state that is verified; what it made of them is to be thrown away
            when this raises.
        Raises: AuditError naming the first bad entry.
        """
        with self._snapshot() as connection:
            return verify(connection, self._log.macs, at_least, tell)

    def logged(self, since: int = 0) -> Iterable[logged.Logged]:
        """Every entry of the audit log (logged.py); a connection is kept until the last one was taken."""
        with self._snapshot() as connection:
            yield from logged.entries(connection, self._sealer, since)

    def export_audit(self, write: Callable[[bytes], object], at_least: AuditHead | None = None) -> AuditHead:
        """Write the log by lines for verify_export(). Raises: AuditError; what was written by then is no export."""
        with self._snapshot() as connection:
            for line in export_lines(connection, self._log, at_least):
                write(line)
            return head_after(connection, None)

    def entries(self, wanted: Wanted) -> list[dict[str, Any]]:
        """The newest entries of the log that are wanted, in its order. Raises: AuditError for one that was changed."""
        with self._snapshot() as connection:
            return newest_entries(connection, self._log.macs, wanted)
