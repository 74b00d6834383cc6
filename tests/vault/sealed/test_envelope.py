import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.framing import lp
from vault.errors import NotSealedError
from vault.sealed.envelope import OVERHEAD_BYTES, SealedValue, associated_data, header, looks_sealed

KEY_IDS = st.binary(min_size=4, max_size=4).filter(any)
SEALED = st.builds(
    SealedValue,
    generation=st.integers(0, 255),
    key_id=KEY_IDS,
    nonce=st.binary(min_size=12, max_size=12),
    body=st.binary(min_size=16, max_size=80),
)


@given(SEALED)
def test_what_serialises_parses_to_the_same(value: SealedValue) -> None:
    data = value.serialise()
    assert SealedValue.parse(data) == value
    assert looks_sealed(data)
    assert len(data) == OVERHEAD_BYTES + len(value.body) - 16


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda data: b"\x01" + data))
def test_whatever_parses_serialises_to_the_same_bytes_and_the_rest_is_refused_by_our_error(data: bytes) -> None:
    try:
        value = SealedValue.parse(data)
    except NotSealedError:
        assert not looks_sealed(data)
        return
    assert value.serialise() == data
    assert looks_sealed(data)


@pytest.mark.parametrize("data", ["text", None, 7, bytearray(40), memoryview(b"\x01" * 40), b""])
def test_nothing_but_bytes_looks_sealed(data: object) -> None:
    assert not looks_sealed(data)
    with pytest.raises(NotSealedError):
        SealedValue.parse(data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("generation", "key_id", "nonce", "body"),
    [
        (256, b"abcd", bytes(12), bytes(16)),
        (-1, b"abcd", bytes(12), bytes(16)),
        (0, bytes(4), bytes(12), bytes(16)),
        (0, b"abc", bytes(12), bytes(16)),
        (0, b"abcd", bytes(11), bytes(16)),
        (0, b"abcd", bytes(12), bytes(15)),
    ],
)
def test_a_sealed_value_that_exists_is_right(generation: int, key_id: bytes, nonce: bytes, body: bytes) -> None:
    with pytest.raises(ValueError):
        SealedValue(generation, key_id, nonce, body)


def test_the_associated_data_is_header_codec_and_row() -> None:
    head = header(3, b"abcd")
    assert head == b"\x01\x03abcd"
    assert associated_data(head, "str/1") == head + lp(b"str/1") + bytes(4)
    assert associated_data(head, "str/1", b"row") == head + lp(b"str/1") + lp(b"row")


@given(st.tuples(st.text(), st.binary()), st.tuples(st.text(), st.binary()))
def test_no_two_codecs_and_rows_have_the_same_associated_data(one: tuple[str, bytes], other: tuple[str, bytes]) -> None:
    head = header(0, b"abcd")
    assert (associated_data(head, *one) == associated_data(head, *other)) == (one == other)
