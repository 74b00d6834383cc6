from pathlib import Path

import pytest

from dp.ledger.keys import AuditMacs, Mac, Sealer
from kms import Keyring, KeyStore, Purpose, open_key_database, open_provider
from kms.providers.local import create_key_file
from tests.kms.rested import retire_and_destroy
from vault.errors import CannotOpenError
from vault.ledger_keys import LedgerAuditMacs, LedgerSealer, question_mac, tie_break_salt


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    create_key_file(tmp_path / "kek")
    store = KeyStore(open_key_database(f"sqlite:///{tmp_path / 'keys.db'}"))
    store.create_schema()
    return Keyring.create(store, open_provider(f"local:{tmp_path / 'kek'}"), "main")


def test_they_are_what_the_ledger_asks_for(keyring: Keyring) -> None:
    mac: Mac = question_mac(keyring)
    macs: AuditMacs = LedgerAuditMacs(keyring)
    sealer: Sealer = LedgerSealer(keyring)
    assert len(mac.compute(b"x")) == len(macs.newest().compute(b"x")) == 32
    assert sealer.open(sealer.seal(b"text", b"aad"), b"aad") == b"text"


def test_the_question_key_and_the_salt_outlive_a_rotation_and_the_audit_key_does_not(keyring: Keyring) -> None:
    question, salt, audit = question_mac(keyring), tie_break_salt(keyring, "d"), LedgerAuditMacs(keyring).newest()
    sealed = LedgerSealer(keyring).seal(b"text", b"aad")
    keyring.lifecycle.rotate(Purpose.LEDGER)
    assert question_mac(keyring).compute(b"q") == question.compute(b"q")
    assert tie_break_salt(keyring, "d") == salt
    assert LedgerAuditMacs(keyring).newest().key_id != audit.key_id
    assert LedgerAuditMacs(keyring).by_id(audit.key_id).compute(b"e") == audit.compute(b"e")
    assert LedgerSealer(keyring).open(sealed, b"aad") == b"text"


def test_the_three_uses_have_three_keys(keyring: Keyring) -> None:
    assert question_mac(keyring).compute(b"m") != LedgerAuditMacs(keyring).newest().compute(b"m")
    assert tie_break_salt(keyring, "a") != tie_break_salt(keyring, "b")


def test_an_unknown_audit_key_is_a_lookup_error(keyring: Keyring) -> None:
    with pytest.raises(LookupError):
        LedgerAuditMacs(keyring).by_id(b"\xff\xff\xff\xff")


def test_a_destroyed_audit_key_is_a_lookup_error_too(keyring: Keyring) -> None:
    key_id = keyring.lifecycle.rotate(Purpose.LEDGER).key_id
    keyring.lifecycle.rotate(Purpose.LEDGER)
    retire_and_destroy(keyring, keyring._store.engine, key_id)
    with pytest.raises(LookupError):
        LedgerAuditMacs(keyring).by_id(key_id)


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_a_changed_byte_another_place_or_a_cut_does_not_open(keyring: Keyring, place: int) -> None:
    sealer = LedgerSealer(keyring)
    sealed = sealer.seal(b"seven", b"place")
    changed = bytearray(sealed)
    changed[place % len(sealed)] ^= 1
    for bad, aad in ((bytes(changed), b"place"), (sealed, b"other place"), (sealed[:-1], b"place"), (b"", b"place")):
        with pytest.raises(CannotOpenError) as refused:
            sealer.open(bad, aad)
        assert refused.value.__cause__ is None
        assert "seven" not in str(refused.value)


def test_two_seals_of_one_text_differ_and_are_counted(keyring: Keyring) -> None:
    sealer = LedgerSealer(keyring)
    assert sealer.seal(b"text", b"") != sealer.seal(b"text", b"")
    assert sum(keyring.seal_counts().values()) >= 2
