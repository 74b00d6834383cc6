"""Needed keys: every key that stored values, terms or ledger rows name, and whether the key store has it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kms import KeyRecord, KeyringState, Purpose
from vault.rows.header_counts import TableCounts
from vault.rows.key_uses import KeyUse, uses_in

__all__ = ["UNKNOWN", "KeyNeed", "needed_keys"]

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class KeyNeed:
    """record: None where no keyring of the key store has the key. rows: of tables, in which something names it."""

    key_id: bytes
    keyring: str
    record: KeyRecord | None
    rows: int
    uses: tuple[KeyUse, ...]

    @property
    def state(self) -> str:
        """Its state in the key store, or that it is unknown."""
        return UNKNOWN if self.record is None else self.record.state.value

    @property
    def lives(self) -> bool:
        """Whether what is under it opens, as far as the key store can tell."""
        return self.record is not None and self.record.live

    @property
    def values(self) -> int:
        """How many stored values are under it."""
        return sum(use.count for use in self.uses if use.what == "values")


def needed_keys(
    tables: Sequence[TableCounts], ledger: Mapping[bytes, Sequence[KeyUse]], states: Iterable[KeyringState]
) -> list[KeyNeed]:
    """Those that live first, by purpose and sequence; unknown ones last. ledger: what of the ledger names each key."""
    known = {record.key_id: (state.name, record) for state in states for record in state.records}
    named = {key_id for table in tables for key_id in table.naming} | set(ledger)
    needs = []
    for key_id in named:
        keyring, record = known.get(key_id, ("", None))
        uses = [use for table in tables for use in uses_in(table, key_id)]
        rows = sum(table.naming[key_id] for table in tables)
        needs.append(KeyNeed(key_id, keyring, record, rows, (*uses, *ledger.get(key_id, ()))))
    return sorted(needs, key=_order)


def _order(need: KeyNeed) -> tuple[bool, bool, str, int, int, bytes]:
    record = need.record
    if record is None:
        return True, True, "", 0, 0, need.key_id
    return False, not record.live, need.keyring, list(Purpose).index(record.purpose), record.sequence, need.key_id
