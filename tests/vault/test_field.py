"""Fields on a real keyring: what the rest of the vault, and an application, sees."""

import copy
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import DontWrapMixin

from kms.errors import LeaseExpiredError, UnavailableError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.rested import retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider
from tests.vault.fixed_keyring import FixedKeyring
from vault import errors
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.definitions.row_context import BoundColumn
from vault.errors import (
    CannotOpenError,
    DestroyedKeyError,
    FieldError,
    InvalidValueError,
    NotSealedError,
    RowBindingError,
    UnknownKeyError,
)
from vault.field import Field
from vault.normalise import casefold, digits, trimmed
from vault.sealed.envelope import HEADER_BYTES, SealedValue, looks_sealed
from vault.sealed.sealing import BLOCK_SEALS
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
INCOME = FieldDefinition("patients", "income", "float64/1", bound=(BoundColumn("person", "int64/1"),))
KEY_ID, INDEX_ID = b"data", b"idx1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


@pytest.fixture
def keyring(tmp_path: Path, provider: ScriptedProvider, clock: ManualClock) -> Iterator[Keyring]:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    yield Keyring.create(store, provider, "main", clock=clock, refresh=False)
    store.close()


@pytest.fixture
def name(keyring: Keyring) -> Field:
    return Field(NAME, keyring)


@pytest.fixture
def income(keyring: Keyring) -> Field:
    return Field(INCOME, keyring)


def fixed(raw: bytes = bytes(range(32)), key_id: bytes = KEY_ID) -> Any:
    return FixedKeyring({key_id: raw}, {INDEX_ID: bytes(range(32))})


def term(field: Field, value: object) -> bytes:
    made = field.terms(value)[field.term_column_names[0]]
    assert made is not None
    return made


FIXED_NAME = Field(NAME, fixed())


@given(st.text())
def test_every_text_comes_back_alone_and_in_bulk(text: str) -> None:
    sealed = FIXED_NAME.seal(text)
    assert FIXED_NAME.open(sealed) == text
    assert FIXED_NAME.open_many(FIXED_NAME.seal_many([text, None, text])) == [text, None, text]


@given(value=st.floats(allow_nan=False), person=st.integers(-(2**63), 2**63 - 1))
def test_every_number_comes_back_in_its_own_row_only(value: float, person: int) -> None:
    field = Field(INCOME, fixed())
    sealed = field.seal(value, {"person": person})
    assert repr(field.open(sealed, {"person": person, "city": "Rome"})) == repr(value)
    with pytest.raises(CannotOpenError, match=r"patients\.income"):
        field.open(sealed, {"person": person // 2 if person not in (0, -1) else 1})


def test_k01_01_null_the_empty_text_and_a_blank_are_three_values(name: Field) -> None:
    values = [None, "", " "]
    sealed = name.seal_many(values)
    assert sealed[0] is None
    assert name.seal(None) is None
    assert name.open(None) is None
    assert name.open_many(sealed) == [name.open(s) for s in sealed] == values
    terms = [name.terms(value)["name_bidx_a"] for value in values]
    assert terms[0] is None
    assert len(set(terms)) == 3
    trimming = Field(replace(NAME, indexes=(BlindIndex(trimmed),)), name.keyring)
    assert term(trimming, " ") == term(trimming, "")
    assert trimming.open(trimming.seal(" ")) == " "


def test_k01_03_fields_that_are_not_set_stay_null_with_their_terms(keyring: Keyring) -> None:
    columns = {"name": "str/1", "age": "int64/1", "born": "date/1", "notes": "json/1"}
    fields = {
        c: Field(FieldDefinition("patients", c, codec, indexes=(BlindIndex(),)), keyring)
        for c, codec in columns.items()
    }

    def stored(values: dict[str, object]) -> dict[str, object]:
        row: dict[str, object] = {}
        for column, field in fields.items():
            row[column] = field.seal(values.get(column))
            row |= field.terms(values.get(column))
        return row

    def filled(row: dict[str, object]) -> set[str]:
        return {column for column, value in row.items() if value is not None}

    assert filled(stored({"name": "Ann"})) == {"name", "name_bidx_a"}
    assert filled(stored({"name": "Ann", "age": 0})) == {"name", "name_bidx_a", "age", "age_bidx_a"}
    assert filled(stored({"name": None, "age": 0})) == {"age", "age_bidx_a"}


def test_k02_09_a_lone_surrogate_names_its_row_before_anything_is_sealed(name: Field) -> None:
    values = ["ok"] * 100
    values[57] = "\ud83d"
    for attempt in (name.seal_many, name.terms_many, name.terms_by_column):
        with pytest.raises(InvalidValueError, match=r"patients\.name, row 57 of the batch.*lone surrogate") as raised:
            attempt(values)
        assert (raised.value.table, raised.value.column, raised.value.row) == ("patients", "name", 57)
        assert raised.value.__context__ is None
    assert name.keyring.seal_counts() == {}, "nothing was sealed, nor counted"
    for single in (name.seal, name.terms):
        with pytest.raises(InvalidValueError, match=r"patients\.name: .*lone surrogate") as raised:
            single("\ud83d")
        assert raised.value.row is None


def test_k02_11_nul_comes_back_and_is_found(name: Field) -> None:
    assert name.open(name.seal("ab\0cd")) == "ab\0cd"
    assert term(name, "ab\0cd") == term(name, "ab\0cd") != term(name, "ab")


class Loud(str):
    __slots__ = ()


def test_k03_10_kinds_of_str_find_each_other_and_bytes_are_refused(name: Field) -> None:
    kinds = ["zo\u00eb", np.str_("zo\u00eb"), Loud("zo\u00eb")]
    assert len({term(name, kind) for kind in kinds}) == 1
    folding = Field(replace(NAME, indexes=(BlindIndex(casefold),)), name.keyring)
    assert len({term(folding, kind) for kind in kinds}) == 1
    assert [(value, type(value)) for value in name.open_many(name.seal_many(kinds))] == [("zo\u00eb", str)] * 3
    for attempt in (name.terms, name.seal, folding.terms):
        with pytest.raises(InvalidValueError, match="holds str, not bytes"):
            attempt(b"zo\xc3\xab")


def test_k05_04_equal_values_have_equal_terms_on_every_path_and_in_this_field_only(keyring: Keyring) -> None:
    fields = [
        Field(NAME, keyring),
        Field(replace(NAME, column="alias"), keyring),
        Field(replace(NAME, table="doctors"), keyring),
        Field(replace(NAME, table="clinic.patients"), keyring),
    ]
    for field in fields:
        many = [row[field.term_column_names[0]] for row in field.terms_many(["same", "same"])]
        assert {*many} == {term(field, "same")}
    assert len({term(field, "same")[5:] for field in fields}) == len(fields)
    sealed = [s for field in fields for s in [field.seal("same"), *field.seal_many(["same"] * 3)]]
    assert len(set(sealed)) == len({s[HEADER_BYTES:] for s in sealed if s}) == 16


def test_k08_03_plaintext_that_looks_sealed_is_sealed_all_the_same(keyring: Keyring) -> None:
    photo = Field(FieldDefinition("patients", "photo", "bytes/1", indexes=(BlindIndex(),)), keyring)
    inner = photo.seal(b"abc")
    assert inner is not None
    name = Field(NAME, keyring)
    for field, value in [
        (photo, inner),
        (photo, inner[:34] + b"abc"),
        (name, "\x01\0abcd" + "A" * 40),
        (name, "QUJD" * 10),
    ]:
        sealed = field.seal(value)
        assert looks_sealed(sealed)
        assert sealed != value
        assert len(sealed or b"") == 34 + len(value)
        assert field.open(sealed) == value
        assert term(field, value) == term(field, value)


def test_k08_07_no_two_seals_of_one_value_are_alike(name: Field) -> None:
    sealed = [name.seal("x") for _ in range(300)] + name.seal_many(["x"] * 300)
    assert len({SealedValue.parse(s or b"").nonce for s in sealed}) == 600


def test_k10_01_another_key_under_the_same_id_and_an_absent_id_are_two_errors() -> None:
    sealed = Field(NAME, fixed()).seal("secret value")
    other_key, absent = Field(NAME, fixed(bytes(32))), Field(NAME, fixed(key_id=b"else"))
    with pytest.raises(CannotOpenError) as wrong:
        other_key.open(sealed, row_key=("Rome", 17))
    with pytest.raises(UnknownKeyError) as unknown:
        absent.open(sealed, row_key=("Rome", 17))
    for error in (wrong.value, unknown.value):
        assert (error.table, error.column, error.key_id) == ("patients", "name", KEY_ID.hex())
        assert error.row_key == ("Rome", 17)
        assert "patients.name, row key ('Rome', 17)" in str(error)
        assert KEY_ID.hex() in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "secret" not in str(error) + repr(error)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
    assert not isinstance(wrong.value, UnknownKeyError)
    assert not isinstance(unknown.value, CannotOpenError)


def test_a_row_bound_field_says_which_columns_it_needs(income: Field) -> None:
    sealed = income.seal(1.5, {"person": 7})
    refused: list[Any] = [
        lambda: income.seal(1.5),
        lambda: income.seal(1.5, {"persons": 7}),
        lambda: income.seal(1.5, {"person": None}),
        lambda: income.seal(1.5, {"person": "7"}),
        lambda: income.open(sealed),
        lambda: income.open(sealed, {}),
        lambda: income.seal_many([1.5]),
        lambda: income.seal_many([1.5], [{"person": 7}, {"person": 8}]),
        lambda: income.open_many([sealed]),
        lambda: income.open_many([sealed], []),
    ]
    for attempt in refused:
        with pytest.raises(RowBindingError, match=r"^patients\.income: .*(person|one row for each)"):
            attempt()
    with pytest.raises(RowBindingError, match="row 1 of the batch"):
        income.seal_many([1.5, 1.5], [{"person": 7}, {"person": None}])
    assert income.seal(None) is None
    assert income.open_many(income.seal_many([1.5, None], [{"person": 7}, {}]), [{"person": 7}, {}]) == [1.5, None]


def test_a_field_that_is_not_bound_ignores_rows(name: Field) -> None:
    assert name.open(name.seal("Ann", {"id": 1}), {"id": 2}) == "Ann"
    assert name.open_many(name.seal_many(["Ann"], [{"id": 1}]), [{"id": 2}]) == ["Ann"]


def test_what_does_not_open_in_bulk_is_raised_or_marked(name: Field) -> None:
    good = name.seal_many(["a", "b"])
    batch = [good[0], b"plain", None, good[1]]
    with pytest.raises(NotSealedError, match=r"patients\.name, row 1 of the batch"):
        name.open_many(batch)
    opened = name.open_many(batch, on_error="mark")
    assert [opened[0], opened[2], opened[3]] == ["a", None, "b"]
    assert isinstance(opened[1], NotSealedError)
    assert (opened[1].table, opened[1].column, opened[1].row) == ("patients", "name", 1)


def test_a_rotation_seals_with_the_new_key_and_opens_what_the_old_one_sealed(name: Field) -> None:
    before = name.seal("Ann")
    terms = name.terms("Ann")
    rotated = name.keyring.lifecycle.rotate(Purpose.DATA)
    name.keyring.lifecycle.rotate(Purpose.INDEX)
    after = name.seal("Ann")
    assert SealedValue.parse(after or b"").key_id == rotated.key_id
    assert name.open_many([before, after]) == ["Ann", "Ann"]
    assert name.terms("Ann") == terms == Field(NAME, name.keyring).terms("Ann")


def test_what_a_destroyed_key_sealed_is_an_error_of_its_own(name: Field) -> None:
    sealed = name.seal("Ann")
    assert name.open(sealed) == "Ann"
    old = SealedValue.parse(sealed or b"").key_id
    name.keyring.lifecycle.rotate(Purpose.DATA)
    retire_and_destroy(name.keyring, name.keyring._store.engine, old)
    with pytest.raises(DestroyedKeyError, match=f"patients.name: names key {old.hex()}, which was destroyed"):
        name.open(sealed)
    (marked,) = name.open_many([sealed], on_error="mark")
    assert isinstance(marked, UnknownKeyError)


def test_opening_ends_with_the_hard_lease_and_sealing_with_its_own(
    name: Field, clock: ManualClock, provider: ScriptedProvider, tmp_path: Path
) -> None:
    sealed = name.seal("Ann")
    name.open(sealed)
    name.terms("Ann")
    provider.fail = UnavailableError("the key service does not answer")
    name.keyring._store.engine.dispose()
    (tmp_path / "keys.db").rename(tmp_path / "away.db")
    (tmp_path / "keys.db").mkdir()
    clock.advance(181)
    for attempt in (lambda: name.seal("Ann"), lambda: name.seal_many(["Ann"])):
        with pytest.raises(LeaseExpiredError):
            attempt()
    assert name.open(sealed) == "Ann"
    assert name.open_many([sealed]) == ["Ann"]
    clock.advance(3600)
    reading: list[Any] = [lambda: name.open(sealed), lambda: name.open_many([sealed]), lambda: name.terms("Ann")]
    for attempt in reading:
        with pytest.raises(UnavailableError):
            attempt()


def test_threads_share_a_field(name: Field) -> None:
    failures: list[object] = []

    def work(number: int) -> None:
        for step in range(200):
            text = f"{number}-{step}"
            if name.open(name.seal(text)) != text or name.terms(text) != name.terms(text):
                failures.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    name.keyring.lifecycle.rotate(Purpose.DATA)
    for thread in threads:
        thread.join()
    assert not failures
    assert sum(name.keyring.seal_counts().values()) >= 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_seals_opens_and_counts_beside_its_parent(name: Field) -> None:
    before = [name.seal("parent")]
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        works = name.open(before[0]) == "parent" and name.terms("x") == name.terms("x")
        os.write(write_end, (name.seal("child") or b"") if works else b"")
        os._exit(0)
    os.waitpid(child, 0)
    sealed = os.read(read_end, 1000)
    os.close(read_end)
    os.close(write_end)
    assert name.open_many([sealed, name.seal("parent")]) == ["child", "parent"]
    (counted,) = name.keyring.seal_counts().values()
    assert counted >= 2 * BLOCK_SEALS, "parent and child each have a block of their own"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_is_killed_has_counted_every_seal_it_made(name: Field) -> None:
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        while True:
            name.seal("x")
            os.write(write_end, b"1")
    made = 0
    while made < 3 * BLOCK_SEALS:
        made += len(os.read(read_end, 64))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(write_end)
    while more := os.read(read_end, 65536):
        made += len(more)
    os.close(read_end)
    (counted,) = name.keyring.seal_counts().values()
    assert made <= counted


def test_a_field_does_not_change_pickle_copy_or_show_a_key(name: Field) -> None:
    assert repr(name) == "Field(patients.name, str/1, generation 0)"
    for attribute in ("definition", "keyring", "_seal", "other"):
        with pytest.raises(AttributeError):
            setattr(name, attribute, None)
    with pytest.raises(AttributeError):
        del name.definition
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled or copied"):
            attempt(name)


def test_slots_that_are_given_are_the_slots_that_are_written(keyring: Keyring) -> None:
    first = keyring.first(Purpose.INDEX).key_id
    second = keyring.lifecycle.rotate(Purpose.INDEX).key_id
    field = Field(NAME, keyring, {"bidx": SlotKeys(SlotPin(first, 0), SlotPin(second, 0))})
    terms = field.terms("Ann")
    assert field.term_column_names == ("name_bidx_a", "name_bidx_b") == tuple(terms)
    assert [(t or b"")[1:5] for t in terms.values()] == [first, second]


def test_a_normaliser_decides_what_is_found_and_not_what_is_read(keyring: Keyring) -> None:
    phone = Field(FieldDefinition("patients", "phone", "str/1", indexes=(BlindIndex(digits),)), keyring)
    assert term(phone, "123-45-6789") == term(phone, "123 45 6789")
    assert phone.open(phone.seal("123-45-6789")) == "123-45-6789"
    with pytest.raises(InvalidValueError, match=r"patients\.phone: digits/1 found no digit"):
        phone.terms("unknown")


def test_every_error_pickles_and_reaches_sqlalchemys_caller_as_it_is() -> None:
    made = [
        CannotOpenError("t", "c", "01020304", 5),
        DestroyedKeyError("t", "c", "01020304", row_key=9),
        InvalidValueError("no").at("t", "c", 3),
        RowBindingError("no"),
        errors.DefinitionChangedError("t", "c", "codec", "run"),
        errors.JobIncompleteError("t", 1, 2),
        errors.SealedColumnError("write == instead"),
    ]
    for error in made:
        assert isinstance(error, errors.VaultError)
        assert isinstance(error, DontWrapMixin)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
    assert str(RowBindingError("no")) == "a sealed field: no"
    assert isinstance(made[0], FieldError)
