"""The encryption context: readable, and a different one for each place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.framing import framed
from kms.provider import wrap_context
from kms.providers.awskms_context import encryption_context

PLACES = st.tuples(
    st.binary(min_size=16, max_size=16),
    st.text(alphabet=st.characters(max_codepoint=127), max_size=8),
    st.binary(min_size=4, max_size=4),
    st.integers(1, 2**64 - 1),
)


def test_the_words_of_a_place_are_fixed() -> None:
    """A changed word here is a changed stored format."""
    assert encryption_context(wrap_context(bytes(range(16)), "data", b"\x01\x02\x03\x04", 3)) == {
        "noisevault": "1 wrap",
        "keyring": "000102030405060708090a0b0c0d0e0f",
        "purpose": "data",
        "key_id": "01020304",
        "sequence": "3",
    }


@given(PLACES, PLACES)
def test_two_places_never_have_one_context(one: Any, other: Any) -> None:
    assert (encryption_context(wrap_context(*one)) == encryption_context(wrap_context(*other))) == (one == other)


@given(PLACES)
def test_a_place_can_be_read_back(place: Any) -> None:
    words = encryption_context(wrap_context(*place))
    read = bytes.fromhex(words["keyring"]), words["purpose"], bytes.fromhex(words["key_id"]), int(words["sequence"])
    assert read == place


GOOD = (b"noisevault/1 wrap", bytes(16), b"data", b"abcd", (1).to_bytes(8, "big"))


@pytest.mark.parametrize(
    "context",
    [
        b"",
        b"p",
        framed(*GOOD)[:-1],
        framed(*GOOD, b""),
        framed(*GOOD[:-1]),
        framed(b"noisevault/2 wrap", *GOOD[1:]),
        framed(GOOD[0], bytes(15), *GOOD[2:]),
        framed(*GOOD[:2], b"d\xff", *GOOD[3:]),
        framed(*GOOD[:4], b"\x01"),
        framed(*GOOD[:4], bytes(8)),
    ],
)
def test_bytes_that_are_no_place_are_refused(context: bytes) -> None:
    with pytest.raises(ValueError, match="give what wrap_context"):
        encryption_context(context)
