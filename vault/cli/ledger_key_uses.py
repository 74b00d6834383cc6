"""Ledger key uses: what of the ledger was signed or sealed by a key, counted by the database."""

from sqlalchemy import Engine, func, select

from dp.ledger.store.schema import answer, audit, charge
from vault.rows.key_uses import KeyUse, names_key

# A sealed text is | format, 1 | key id, 4 | ..., see vault/ledger_keys.py; SQL counts from 1.
IN_SEALED_TEXT = 2


def ledger_uses(ledger: Engine, key_id: bytes) -> list[KeyUse]:
    """Entries of the audit log, questions and answers that nobody could verify or read without the key."""
    named = (
        ("entries", audit, audit.c.key_id == key_id.hex()),
        ("questions", charge, names_key(charge.c.sealed_question, IN_SEALED_TEXT, key_id)),
        ("answers", answer, names_key(answer.c.sealed_answer, IN_SEALED_TEXT, key_id)),
    )
    with ledger.connect() as connection:
        counts = [
            (connection.scalar(select(func.count()).select_from(table).where(names)) or 0, what, table.name)
            for what, table, names in named
        ]
    return [KeyUse(*use) for use in counts if use[0]]
