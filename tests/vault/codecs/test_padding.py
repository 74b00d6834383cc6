from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vault.codecs import codec_named
from vault.codecs.padding import LARGEST, padded_length, padding_suffix, unpadded_id
from vault.errors import DefinitionError, InvalidValueError

NEARLY = st.lists(st.sampled_from([0, 0, 0x80, 0x41]), max_size=12).map(bytes)
SIZES = st.integers(2, 40)


@given(st.binary(max_size=100), SIZES)
def test_the_stored_length_is_the_next_multiple_and_the_value_comes_back(data: bytes, size: int) -> None:
    codec = codec_named(f"bytes/1+pad{size}")
    stored = codec.encode(data)
    assert len(stored) == (len(data) // size + 1) * size == padded_length(f"+pad{size}", len(data))
    assert codec.decode(stored) == codec.decode_many([stored])[0] == data


@given(st.binary(max_size=39), st.binary(max_size=39))
def test_a_fixed_width_tells_nothing_of_the_length(one: bytes, other: bytes) -> None:
    codec = codec_named("bytes/1+fix40")
    assert len(codec.encode(one)) == len(codec.encode(other)) == codec.width == 40
    assert codec.decode(codec.encode(one)) == one


def test_what_does_not_fit_a_fixed_width_is_refused_and_never_cut() -> None:
    codec = codec_named("str/1+fix4")
    assert codec.decode(codec.encode("Ann")) == "Ann"
    with pytest.raises(InvalidValueError, match="more than the 3 bytes that width=4"):
        codec.encode("Anna")


@given(st.sampled_from(["bytes/1+pad4", "bytes/1+fix4", "str/1+pad3"]), st.binary(max_size=20) | NEARLY)
@example("bytes/1+pad4", b"A\x80" + bytes(6))  # a block too many
@example("bytes/1+fix4", b"Annabel\x80")
def test_what_is_read_is_written_the_same_or_refused(codec_id: str, data: bytes) -> None:
    codec = codec_named(codec_id)
    try:
        value = codec.decode(data)
    except ValueError:
        return
    assert codec.encode(value) == data


def test_terms_do_not_depend_on_padding() -> None:
    assert codec_named("decimal/1+pad64").equality(7) == codec_named("decimal/1").equality(7)
    assert unpadded_id("decimal/1+pad64") == unpadded_id("decimal/1") == "decimal/1"


def test_a_padded_codec_is_made_once() -> None:
    assert codec_named("str/1+pad64") is codec_named("str/1+pad64")


@pytest.mark.parametrize(
    ("pad", "width", "suffix"), [(None, None, ""), (64, None, "+pad64"), (None, 256, "+fix256"), (2, None, "+pad2")]
)
def test_a_declaration_becomes_part_of_the_codecs_id(pad: Any, width: Any, suffix: str) -> None:
    assert padding_suffix(pad, width) == suffix


@pytest.mark.parametrize("size", [0, 1, -1, LARGEST + 1, 64.0, True, "64"])
def test_a_size_that_cannot_work_is_refused(size: Any) -> None:
    with pytest.raises(DefinitionError, match="pad= is a number of bytes from 2"):
        padding_suffix(size, None)
    with pytest.raises(DefinitionError, match="width= is a number of bytes from 2"):
        padding_suffix(None, size)


def test_only_one_of_both_is_meant() -> None:
    with pytest.raises(DefinitionError, match="not by both"):
        padding_suffix(64, 64)


@pytest.mark.parametrize("suffix", ["+", "+pad", "+pad0", "+pad01", "+PAD4", "+pad4 ", "+pad4+pad4", "+pad1048577"])
def test_an_unknown_padding_is_refused(suffix: str) -> None:
    with pytest.raises(DefinitionError, match="there is no padding"):
        codec_named(f"str/1{suffix}")


def test_where_all_lengths_are_one_padding_is_refused() -> None:
    with pytest.raises(DefinitionError, match="stored in 8 bytes: leave pad= and width= out"):
        codec_named("int64/1+pad16")


def test_how_long_a_column_must_be() -> None:
    assert padded_length("", 7) == 7
    assert padded_length("", None) is padded_length("+pad64", None) is None
    assert padded_length("+pad64", 63) == 64
    assert padded_length("+pad64", 64) == 128
    assert padded_length("+fix64", None) == 64
