from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import UnavailableError
from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import BoundColumn, framed_context
from vault.errors import CannotOpenError, FieldError, NotSealedError, RowBindingError, UnknownKeyError
from vault.sealed.bulk_opening import CHUNK_VALUES, open_many
from vault.sealed.opening import Opening
from vault.sealed.sealing import Sealing

AGE = FieldDefinition("patients", "age", "int64/1")
KEY_ID = b"key\x01"

KEYRING: Any = FixedKeyring({b"old\x01": bytes(32), KEY_ID: bytes(32)})
KINDS = ("good", "good", "good", "good", "old key", "null", "buffer", "flipped", "cut", "unbound", "text")


@pytest.fixture
def keyring() -> Any:
    return FixedKeyring({KEY_ID: bytes(32)})


def le(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


def test_values_come_in_order_over_chunks_and_codecs_with_null_between(keyring: Any) -> None:
    later = replace(AGE, codec="str/1", generation=1)
    numbers = Sealing(AGE, keyring).seal_many([le(n) for n in range(CHUNK_VALUES + 5)])
    texts = Sealing(later, keyring).seal_many([str(n).encode() for n in range(CHUNK_VALUES + 5)])
    mixed = [stored for pair in zip(numbers, texts, strict=True) for stored in (*pair, None)]
    opened = open_many(Opening(later, {0: AGE}, keyring), mixed, None)
    assert opened == [value for n in range(CHUNK_VALUES + 5) for value in (n, str(n), None)]


def test_what_does_not_open_is_marked_in_its_place_and_spoils_no_other(keyring: Any) -> None:
    good = Sealing(AGE, keyring).seal_many([le(n) for n in range(6)])
    stranger = Sealing(AGE, FixedKeyring({b"else": bytes(32)})).seal(le(0))  # type: ignore[arg-type]
    short = Sealing(AGE, keyring).seal(b"1234567")
    batch = [good[0][:20], stranger, good[1], "text", good[2][:-1], short, None, memoryview(good[3]), 7, b""]
    opened = open_many(Opening(AGE, {}, keyring), batch, None)
    kinds = [NotSealedError, UnknownKeyError, int, NotSealedError, CannotOpenError, CannotOpenError, type(None), int]
    assert list(map(type, opened)) == [*kinds, NotSealedError, NotSealedError]
    assert [opened[2], opened[7]] == [1, 3]
    assert [mark.row for mark in opened if isinstance(mark, Exception)] == [0, 1, 3, 4, 5, 8, 9]
    assert all(mark.__context__ is None for mark in opened if isinstance(mark, Exception))


def made(kind: str, number: int, field: FieldDefinition) -> object:
    """One stored value of a kind, for row number `number`."""
    other = FixedKeyring({b"old\x01": bytes(32)})
    sealing = Sealing(field, other if kind == "old key" else KEYRING)  # type: ignore[arg-type]
    context = None if not field.bound or kind == "unbound" else framed_context(field.bound)({"id": number})
    sealed = sealing.seal(le(number), context)
    match kind:
        case "null":
            return None
        case "buffer":
            return memoryview(sealed)
        case "flipped":
            return sealed[:-1] + bytes([sealed[-1] ^ 1])
        case "cut":
            return sealed[:30]
        case "text":
            return sealed.hex()
    return sealed


@given(kinds=st.lists(st.sampled_from(KINDS), max_size=12), bound=st.booleans())
def test_many_open_as_each_opens_alone(kinds: list[str], bound: bool) -> None:
    field = replace(AGE, bound=(BoundColumn("id", "int64/1"),)) if bound else AGE
    batch = [made(kind, number, field) for number, kind in enumerate(kinds)]
    rows = [{"id": number} for number in range(len(batch))] if bound else None
    opening = Opening(field, {}, KEYRING)
    alone: list[Any] = []
    for number, stored in enumerate(batch):
        try:
            alone.append(None if stored is None else opening.open(stored, {"id": number}))
        except FieldError as error:
            alone.append(type(error))
    together = open_many(opening, batch, rows)
    assert [type(one) if isinstance(one, FieldError) else one for one in together] == alone


def test_rows_are_bound_one_by_one(keyring: Any) -> None:
    bound = replace(AGE, bound=(BoundColumn("id", "int64/1"),))
    context = [b"\0\0\0\x17\0\0\0\x07int64/1\0\0\0\x08" + le(n) for n in range(4)]
    sealed = Sealing(bound, keyring).seal_many([le(n) for n in range(4)], context)
    rows: list[dict[str, object]] = [{"id": 0}, {"id": 2}, {"id": None}, {"id": 3}]
    opened = open_many(Opening(bound, {}, keyring), sealed, rows)
    assert list(map(type, opened)) == [int, CannotOpenError, RowBindingError, int]


def test_when_the_keyring_cannot_tell_nothing_is_marked(keyring: Any) -> None:
    sealed = Sealing(AGE, keyring).seal_many([le(1)])

    def unavailable(*_: object) -> Any:
        raise UnavailableError("the key service does not answer")

    opening = Opening(AGE, {}, keyring)
    opening._lease = unavailable
    with pytest.raises(UnavailableError):
        open_many(opening, sealed, None)


def test_no_values_give_none(keyring: Any) -> None:
    assert open_many(Opening(AGE, {}, keyring), [], None) == []
