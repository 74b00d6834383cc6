"""Restore survey: what a database, a key store or a ledger that was put back has of what belongs together.

It reads and changes nothing: no definition is registered, no mode begun, no key made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, Table, inspect

from kms import KeyProvider, KeyStore
from kms.key_tables import keyring_table
from kms.seal_counter import SealCounter
from vault.changeover.in_force import InForce, read_in_force
from vault.mapping.definitions import all_term_columns, is_migrating, plaintext_column, sealed_columns
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.kek_findings import kek_findings, untried_keys
from vault.restoration.key_findings import counter_findings, key_findings, sequence_findings
from vault.restoration.mode_findings import mode_findings
from vault.restoration.needed_keys import KeyNeed, needed_keys
from vault.restoration.slot_findings import generation_findings, read_recorded, slot_findings
from vault.rows.header_counts import header_counts
from vault.rows.key_uses import KeyUse

__all__ = ["Survey", "survey"]


@dataclass(frozen=True, slots=True)
class Survey:
    """needs: every key that something names. rows: of the tables that were counted. untried: as of untried_keys()."""

    needs: tuple[KeyNeed, ...]
    findings: tuple[Finding, ...]
    rows: int
    untried: tuple[KeyNeed, ...] = ()


def survey(
    engine: Engine,
    tables: Iterable[Table],
    store: KeyStore,
    provider: KeyProvider,
    keyring: str,
    ledger: Mapping[bytes, Sequence[KeyUse]],
) -> Survey:
    """engine: of the data. keyring: the policy's. ledger: what of the ledger names each key. Raises: KmsError."""
    sealed = [table for table in tables if sealed_columns(table)]
    lacking = {table.fullname: _lacking(engine, table) for table in sealed}
    findings = [
        Finding(FindingKind.SCHEMA, name, len(columns), f"not in the database: {', '.join(columns)}")
        for name, columns in lacking.items()
        if columns
    ]
    whole = [table for table in sealed if not lacking[table.fullname]]
    counts = [header_counts(engine, table) for table in whole]
    has_store = inspect(store.engine).has_table(keyring_table.name)
    states = store.load_all() if has_store else []
    mine = next((state for state in states if state.name == keyring), None)
    needs = needed_keys(counts, ledger, states)
    if mine is None:
        findings.append(Finding(FindingKind.NO_KEYRING, keyring, 0, f"the key store has no keyring {keyring}"))
    findings += key_findings(needs)
    findings += sequence_findings(states)
    known = {record.key_id for state in states for record in state.records}
    if has_store:
        findings += counter_findings(whole, counts, SealCounter(store.engine).counts(), known)
    recorded = read_recorded(store.engine)
    live = [record.key_id for state in states for record in state.records if record.live]
    in_force = InForce(keyring, {}, {}) if mine is None or not _has_slots(store) else read_in_force(
        store.engine, mine.keyring_id, keyring
    )  # fmt: skip
    for table, counted in zip(whole, counts, strict=True):
        findings += generation_findings(table, counted, recorded)
        findings += slot_findings(table, counted, recorded, live)
        findings += mode_findings(engine, table, in_force, recorded)
    untried: list[KeyNeed] = []
    if mine is not None:
        findings += kek_findings(states, provider, mine.keyring_id)
        untried += untried_keys(needs, provider, mine.keyring_id)
    return Survey(tuple(needs), tuple(findings), sum(counted.rows for counted in counts), tuple(untried))


def _lacking(engine: Engine, table: Table) -> list[str]:
    """What the statements of the survey would miss: the table, or columns of it that are sealed or hold terms."""
    there = inspect(engine)
    if not there.has_table(table.name, schema=table.schema):
        return [table.fullname]
    names = {column["name"] for column in there.get_columns(table.name, schema=table.schema)}
    plain = [plaintext_column(column) for column in sealed_columns(table) if is_migrating(column)]
    needed = [*sealed_columns(table), *all_term_columns(table), *plain]
    return [column.name for column in needed if column.name not in names]


def _has_slots(store: KeyStore) -> bool:
    there = set(inspect(store.engine).get_table_names())
    return {"noisevault_index_slot", "noisevault_changeover"} <= there
