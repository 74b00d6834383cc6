"""Key findings: what the keys that rows need say of a data's database, or a key store, that went back."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Table

from kms import KeyringState, KeyState, Purpose
from vault.mapping.definitions import definition_of, sealed_columns
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.needed_keys import KeyNeed
from vault.rows.header_counts import TableCounts

__all__ = ["counter_findings", "key_findings", "sequence_findings"]


def key_findings(needs: Iterable[KeyNeed]) -> Iterator[Finding]:
    """Values under keys that do not open them, or that seal nothing yet as the key store says.

    Terms are told with their slots, and what the ledger names with the ledger: it is told apart what either needs.
    """
    for need in needs:
        where = ", ".join(use.where for use in need.uses if use.what == "values")
        if not need.values:
            continue
        told = f"{need.values} values in {need.rows} rows"
        match need.record and need.record.state:
            case None:
                yield Finding(FindingKind.KEY_UNKNOWN, where, need.values, f"{told}: no keyring has it", need.key_id)
            case KeyState.DESTROYED:
                text = f"{told}: destroyed on {need.record.changed_at:%Y-%m-%d}" if need.record else told
                yield Finding(FindingKind.KEY_DESTROYED, where, need.values, text, need.key_id)
            case KeyState.RETIRED:
                yield Finding(FindingKind.KEY_RETIRED, where, need.values, f"{told}: it can be restored", need.key_id)
            case KeyState.PRE_ACTIVE:
                text = f"{told}: it seals nothing yet, as the key store says"
                yield Finding(FindingKind.KEY_EARLY, where, need.values, text, need.key_id)


def sequence_findings(states: Iterable[KeyringState]) -> Iterator[Finding]:
    """Keys of which the row is gone: numbers count from 1 without a gap, and rows of destroyed keys stay."""
    for state in states:
        for purpose in Purpose:
            numbers = {record.sequence for record in state.of(purpose)}
            gone = sorted(set(range(1, max(numbers, default=0) + 1)) - numbers)
            if gone:
                text = f"{purpose} keys number {', '.join(map(str, gone))} have no row"
                yield Finding(FindingKind.SEQUENCE_GAP, state.name, len(gone), text)


def counter_findings(
    tables: Iterable[Table],
    counts: Sequence[TableCounts],
    counted: Mapping[tuple[bytes, str], int],
    known: Container[bytes],
) -> Iterator[Finding]:
    """Keys that sealed more than was counted before. counted: by key id and label. known: keys of the store."""
    labels = {(t.fullname, c.name): definition_of(c).label for t in tables for c in sealed_columns(t)}
    stored: Counter[tuple[bytes, str]] = Counter()
    for table in counts:
        for column in table.columns:
            for key_id, number in column.by_key().items() if column.holds == "values" else ():
                stored[key_id, labels[table.table, column.name]] += number
    for (key_id, label), number in sorted(stored.items()):
        there = counted.get((key_id, label), 0)
        if key_id in known and number > there:
            text = f"{number} values, and {there} seals were counted"
            yield Finding(FindingKind.COUNTER_BACK, label, number - there, text, key_id)
