"""A key store that was restored from yesterday's backup and rotated again: two keys are never taken for one another."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.keyring import Keyring
from kms.provider import KEY_ID_BYTES
from kms.secret import SecretKey
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider
from vault.definitions.definition import FieldDefinition
from vault.errors import CannotOpenError, UnknownKeyError
from vault.field import Field

DATA = Purpose.DATA
NAME = FieldDefinition("patients", "name", "str/1")


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


class Copies:
    """A key store in a file, a backup of it, and what reads the file at the moment."""

    def __init__(self, folder: Path) -> None:
        self.file, self.backup = folder / "keys.db", folder / "keys.backup"
        self.store = self._opened()
        self.store.create_schema()

    def _opened(self) -> KeyStore:
        return KeyStore.from_url(f"sqlite:///{self.file}")

    def back_up(self) -> None:
        with closing(sqlite3.connect(self.file)) as source, closing(sqlite3.connect(self.backup)) as target:
            source.backup(target)

    def restore(self) -> KeyStore:
        self.store.close()
        for leftover in self.file.parent.glob("keys.db*"):
            leftover.unlink()
        self.file.write_bytes(self.backup.read_bytes())
        self.store = self._opened()
        return self.store


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Copies]:
    copies = Copies(tmp_path)
    yield copies
    copies.store.close()


def test_a_restored_store_that_is_rotated_gives_no_key_id_twice(copies: Copies, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(copies.store, provider, "main", refresh=False)
    copies.back_up()
    lost = [keyring.lifecycle.rotate(purpose).key_id for purpose in Purpose for _ in range(5)]
    sealed = Field(NAME, keyring).seal("Ada")
    again = Keyring.open(copies.restore(), provider, "main", refresh=False)
    made = [again.lifecycle.rotate(purpose).key_id for purpose in Purpose for _ in range(5)]
    kept = [record.key_id for record in again.records()]
    assert len({*lost, *kept}) == len(lost) + len(kept)
    assert set(made) <= set(kept)
    with pytest.raises(UnknownKeyError):
        Field(NAME, again).open(sealed)


def test_a_key_that_draws_the_id_of_a_lost_one_opens_nothing_of_it(copies: Copies, provider: ScriptedProvider) -> None:
    """One in 2**32 for each lost key: forced here by a source of ids that says the same again."""

    def random(n: int) -> bytes:
        return b"\x99" * n if n == KEY_ID_BYTES else os.urandom(n)

    Keyring.create(copies.store, provider, "main", refresh=False)
    copies.back_up()
    before = Keyring.open(copies.store, provider, "main", refresh=False, random=random)
    lost = before.lifecycle.rotate(DATA)
    sealed = Field(NAME, before).seal("Ada")
    after = Keyring.open(copies.restore(), provider, "main", refresh=False, random=random)
    made = after.lifecycle.rotate(DATA)
    assert (made.key_id, made.sequence) == (lost.key_id, lost.sequence)
    assert after.sealing(DATA).key.secret != before.sealing(DATA).key.secret
    with pytest.raises(CannotOpenError, match=r"patients\.name"):
        Field(NAME, after).open(sealed)


def test_a_process_that_outlived_the_restore_forgets_the_lost_key_with_the_next_state(
    copies: Copies, provider: ScriptedProvider
) -> None:
    clock = ManualClock()
    keyring = Keyring.create(copies.store, provider, "main", refresh=False)
    copies.back_up()
    lost = keyring.lifecycle.rotate(DATA)
    running = Keyring.open(copies.store, provider, "main", clock=clock, refresh=False)
    field = Field(NAME, running)
    sealed = field.seal("Ada")
    assert field.open(sealed) == "Ada"
    running._store.engine = copies.restore().engine
    clock.advance(120)
    running._refresh.step()
    with pytest.raises(UnknownKeyError):
        field.open(sealed)
    assert running.sealing(DATA).key.key_id != lost.key_id


def test_k10_01_a_key_that_is_exchanged_under_its_id_while_it_is_held_is_told_as_another_key(
    copies: Copies, provider: ScriptedProvider
) -> None:
    """A DBA who may wrap (for this place, even) puts other bytes into the row; the next refresh meets them."""
    clock = ManualClock()
    keyring = Keyring.create(copies.store, provider, "main", clock=clock, refresh=False)
    field = Field(NAME, keyring)
    sealed, record = field.seal("Ada"), keyring.records(DATA)[0]
    other = provider.wrap(SecretKey(b"\7" * 32), record.context)
    with writing(copies.store.engine) as connection:
        row = key_table.c.key_id == record.key_id
        connection.execute(update(key_table).where(row).values(wrapped=other.ciphertext))
    assert field.open(sealed) == "Ada"
    clock.advance(271)
    keyring._refresh.step()
    with pytest.raises(CannotOpenError) as raised:
        field.open(sealed, row_key=7)
    assert (raised.value.key_id, raised.value.row_key) == (record.key_id.hex(), 7)
    assert "Ada" not in str(raised.value)
    assert field.open(field.seal("Bob")) == "Bob"
