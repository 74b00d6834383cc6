"""Restored ledger: whether it went back behind an audit head kept elsewhere, is whole, and its keys live."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

from sqlalchemy import Engine, LargeBinary, func, inspect, select

from dp import DpError
from dp.ledger.log.audit import AuditHead
from dp.ledger.store.schema import answer, audit, charge
from kms import Keyring, KeyState, KmsError
from vault.cli.ledger_key_uses import IN_SEALED_TEXT
from vault.errors import VaultError
from vault.ledger_keys import LABEL
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.needed_keys import KeyNeed
from vault.rows.key_uses import KEY_ID_BYTES, KeyUse

__all__ = [
    "has_ledger",
    "head_findings",
    "ledger_counter_findings",
    "ledger_key_findings",
    "named_by_ledger",
    "whole_findings",
]

LEDGER = "ledger"


def has_ledger(ledger: Engine) -> bool:
    return inspect(ledger).has_table(audit.name)


def named_by_ledger(ledger: Engine) -> dict[bytes, list[KeyUse]]:
    """What of the ledger names each key: entries, questions and answers, counted by the database."""
    found: dict[bytes, list[KeyUse]] = {}
    sealed = (("questions", charge.c.sealed_question), ("answers", answer.c.sealed_answer))
    with ledger.connect() as connection:
        for key_id, number in connection.execute(select(audit.c.key_id, func.count()).group_by(audit.c.key_id)):
            if named := _key_id(key_id):
                found.setdefault(named, []).append(KeyUse(number, "entries", audit.name))
        for what, column in sealed:
            key = func.substr(column, IN_SEALED_TEXT, KEY_ID_BYTES, type_=LargeBinary())
            for key_id, number in connection.execute(select(key, func.count()).group_by(key)):
                if isinstance(key_id, bytes) and len(key_id) == KEY_ID_BYTES:
                    found.setdefault(key_id, []).append(KeyUse(number, what, column.table.name))
    return found


def head_findings(ledger: Engine, kept: AuditHead) -> Iterator[Finding]:
    """kept: as `noisevault audit head` wrote it. No key is needed: the MAC is compared with the one that is stored."""
    with ledger.connect() as connection:
        last = connection.scalar(select(func.max(audit.c.sequence))) or 0
        there = connection.scalar(select(audit.c.mac).where(audit.c.sequence == kept.sequence))
    if last < kept.sequence:
        lost = kept.sequence - last
        text = f"the log ends with entry {last}, the head that was kept is entry {kept.sequence}: {lost} or more lost"
        yield Finding(FindingKind.LEDGER_BACK, LEDGER, lost, text)
    elif kept.sequence and there != kept.mac:
        text = f"entry {kept.sequence} is not the one that was kept: went back and was written on, or is another ledger"
        yield Finding(FindingKind.LEDGER_OTHER, LEDGER, 1, text)


def ledger_key_findings(needs: Iterable[KeyNeed]) -> Iterator[Finding]:
    """Ledger keys that do not open what names them."""
    for need in needs:
        uses = [use for use in need.uses if use.what in {"entries", "questions", "answers"}]
        if uses and not need.lives:
            text = f"{', '.join(map(str, uses))}: the key is {need.state}"
            yield Finding(FindingKind.LEDGER_KEY, LEDGER, sum(use.count for use in uses), text, need.key_id)


def ledger_counter_findings(needs: Iterable[KeyNeed], counted: Mapping[tuple[bytes, str], int]) -> Iterator[Finding]:
    """The active key, if it sealed more questions and answers than the key store had counted before.

    One that was rotated since seals no more, so that its count limits nothing; and what names it stays for ever.
    """
    for need in needs:
        sealed = sum(use.count for use in need.uses if use.what in {"questions", "answers"})
        there = counted.get((need.key_id, LABEL), 0)
        if need.record is not None and need.record.state is KeyState.ACTIVE and sealed > there:
            text = f"{sealed} questions and answers, and {there} seals were counted"
            yield Finding(FindingKind.LEDGER_COUNTER, LABEL, sealed - there, text, need.key_id)


def whole_findings(policy: Policy, keyring: Keyring) -> Iterator[Finding]:
    """Whether every entry, counter, charge and answer is what the log says."""
    try:
        with closing(open_ledger(policy, keyring)) as ledger:
            ledger.verify_audit()
    except (DpError, KmsError, VaultError) as error:
        yield Finding(FindingKind.LEDGER_BROKEN, LEDGER, 1, str(error))


def _key_id(text: object) -> bytes:
    try:
        return bytes.fromhex(str(text))
    except ValueError:
        return b""
