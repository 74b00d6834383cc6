"""Mode findings: rows of migrating fields that the mode which the key store has would not read."""

from collections.abc import Iterator, Mapping

from sqlalchemy import ColumnElement, Connection, Engine, Table, func, select

from vault.changeover.in_force import InForce
from vault.mapping.definitions import definition_of, is_migrating, plaintext_column, sealed_columns
from vault.modes.mode import Mode
from vault.modes.recorded_modes import PLAINTEXT, SEALED, mode_of, subject_of_field
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.slot_findings import Recorded
from vault.rows.raw_table import raw_table

__all__ = ["mode_findings"]


def mode_findings(engine: Engine, table: Table, in_force: InForce, recorded: Recorded) -> Iterator[Finding]:
    """Of each migrating field, one scan. in_force: of the keyring whose field it is."""
    for column in sealed_columns(table):
        if not is_migrating(column):
            continue
        definition = definition_of(column)
        changeover = in_force.changeovers.get(subject_of_field(definition))
        known = (definition.table, definition.column) in recorded.generations
        # A start-up would begin a field that is not recorded in the first mode.
        mode = mode_of(changeover) if changeover is not None or known else Mode.PLAINTEXT
        raw = raw_table(table)
        plain, sealed = raw.c[plaintext_column(column).name], raw.c[column.name]
        with engine.connect() as connection:
            only_sealed = _count(connection, plain.is_(None) & sealed.is_not(None), raw)
            only_plain = _count(connection, plain.is_not(None) & sealed.is_(None), raw)
        where = f"{table.fullname}.{column.name}"
        if only_sealed and not mode.reads_sealed:
            text = (
                f"{only_sealed} values are sealed alone, and mode {mode.value} reads the plaintext column;"
                f" {only_plain} stand in plaintext alone"
            )
            yield Finding(FindingKind.MODE_BACK, where, only_sealed, text)
        if only_plain and mode.reads_sealed:
            text = (
                f"{only_plain} values are in plaintext alone, and mode {mode.value} reads the sealed column;"
                f" {only_sealed} are sealed alone"
            )
            yield Finding(FindingKind.MODE_AHEAD, where, only_plain, text)
        subject, lacking = subject_of_field(definition), {SEALED: only_plain, PLAINTEXT: only_sealed}
        yield from _stale(where, {at: number for at, number in lacking.items() if (subject, at) in recorded.complete})


def _count(connection: Connection, condition: ColumnElement[bool], raw: Table) -> int:
    return connection.scalar(select(func.count()).select_from(raw).where(condition)) or 0


def _stale(where: str, proved: Mapping[str, int]) -> Iterator[Finding]:
    for place, lacking in proved.items():
        if lacking:
            text = f"{lacking} rows have nothing in the {place} column, of which it was proved that there is none"
            yield Finding(FindingKind.PROOF_STALE, where, lacking, text)
