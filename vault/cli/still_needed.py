"""Still needed: what in the databases of a project needs a key, and what is known to lie elsewhere."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from kms import KeyRecord, KeyState, Purpose
from vault.cli.ledger_key_uses import ledger_uses
from vault.errors import KeyInUseError
from vault.opened_ledger import ledger_engine
from vault.project import Project
from vault.retirement.namesakes import namesake_uses, namesakes
from vault.rows.header_counts import TableCounts
from vault.rows.key_uses import KeyUse, pinned_slots, terms_under, uses_in, values_under

REMEDIES: Final = {
    Purpose.DATA: "move them to the active key by: {}noisevault reencrypt",
    Purpose.INDEX: "move the indexes to the active key by: {}noisevault reindex --all --wait",
    Purpose.LEDGER: "the audit log and the stored answers are read by it for ever, so the key stays",
}


@dataclass(frozen=True, slots=True)
class StillNeeded:
    """Counts by the stored bytes alone; no key is used."""

    project: Project

    def refuse_used(self, record: KeyRecord) -> None:
        """Raises: KeyInUseError that says what names the key, where, and what to do."""
        uses = self.uses(record)
        if uses:
            self.refuse(record, uses)

    def refuse(self, record: KeyRecord, uses: Sequence[KeyUse]) -> NoReturn:
        """Raises: KeyInUseError, as refuse_used, for what was found."""
        back = f"noisevault keys restore {record.key_id.hex()}, then " if record.state is KeyState.RETIRED else ""
        raise KeyInUseError(
            f"{record.purpose} key {record.key_id.hex()} is needed by {', '.join(map(str, uses))}:"
            f" {REMEDIES[record.purpose].format(back)}"
        )

    def uses(self, record: KeyRecord) -> list[KeyUse]:
        """What needs the key."""
        project, key_id = self.project, record.key_id
        match record.purpose:
            case Purpose.DATA:
                return values_under(project.engine, project.tables.values(), key_id)
            case Purpose.INDEX:
                return self._slots(record) + terms_under(project.engine, project.tables.values(), key_id)
            case Purpose.LEDGER:
                ledger = ledger_engine(project.policy.ledger_url)
                try:
                    return ledger_uses(ledger, key_id)
                finally:
                    ledger.dispose()

    def uses_counted(self, record: KeyRecord, tables: Iterable[TableCounts]) -> list[KeyUse]:
        """As uses, in tables that were counted already."""
        if record.purpose is Purpose.LEDGER:
            return self.uses(record)
        counted = [use for table in tables for use in uses_in(table, record.key_id)]
        return self._slots(record) + counted if record.purpose is Purpose.INDEX else counted

    def _slots(self, record: KeyRecord) -> list[KeyUse]:
        return pinned_slots(self.project.opened.key_store.engine, record.keyring_id, record.key_id)

    def unseen(self, record: KeyRecord) -> dict[str, int]:
        """The fields outside of the policy that the key sealed, and how often at most: what else was there to scan."""
        fields = [f for table in self.project.tables.values() for f in self.project.fields(table).values()]
        seen = {field.definition.label for field in fields}
        counts = self.project.opened.keyring.seal_counts()
        return {label: n for (key_id, label), n in counts.items() if key_id == record.key_id and label not in seen}

    def refuse_namesakes(self, record: KeyRecord, looked_at: Collection[str] | None = None) -> None:
        """Raises: KeyInUseError where tables of the same name in other schemas name the key; and, but for those that
        were looked at, where this role may not read one. looked_at: None: that is told, and not refused.
        """
        if record.purpose is not Purpose.DATA:
            return
        engine = self.project.engine
        uses, unread = namesake_uses(engine, namesakes(engine, list(self.project.tables.values())), record.key_id)
        if uses:
            raise KeyInUseError(
                f"data key {record.key_id.hex()} is needed by {', '.join(map(str, uses))}, which the policy does not"
                " name: move them by a policy whose URL leads to that schema, with the same command"
            )
        left = [] if looked_at is None else sorted({str(one) for one in unread} - set(looked_at))
        if left:
            options = " ".join(f"--looked-at {place}" for place in left)
            raise KeyInUseError(
                f"this role may not read {', '.join(left)}, tables of the same name, where data key"
                f" {record.key_id.hex()} may be needed: when nothing there names the key, add {options}"
            )

    def refuse_unseen(self, record: KeyRecord, looked_at: Collection[str]) -> None:
        """Raises: KeyInUseError for fields outside of the policy that the key sealed, unless they were looked at."""
        if record.purpose is not Purpose.DATA:
            return
        left = sorted(set(self.unseen(record)) - set(looked_at))
        if left:
            options = " ".join(f"--looked-at {label}" for label in left)
            raise KeyInUseError(
                f"data key {record.key_id.hex()} sealed values of {', '.join(left)}, which the policy does not name:"
                " look there by the policy or models that do, with the same command, which makes its triggers and is"
                f" refused likewise; when nothing there names the key, add {options}"
            )
