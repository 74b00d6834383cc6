"""Every codec: the published vectors, and what all of them promise."""

from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.vector_cases import cases, error_of, value_of
from vault.codecs import CODEC_IDS, codec_named
from vault.errors import DefinitionError, InvalidValueError


def folded(value: Any) -> st.SearchStrategy[Any]:
    """A naive value with either fold; with an offset beside it a fold says nothing, and is not kept."""
    return st.just(value.replace(fold=0)) if value.tzinfo else st.integers(0, 1).map(lambda n: value.replace(fold=n))


ZONES = st.none() | st.integers(-86399, 86399).map(lambda seconds: timezone(timedelta(seconds=seconds)))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
).filter(lambda value: value is not None)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str/1": st.text(),
    "bytes/1": st.binary(),
    "int64/1": st.integers(-(2**63), 2**63 - 1),
    "int/1": st.integers(),
    "float64/1": st.floats(allow_nan=False),
    "decimal/1": st.decimals(allow_nan=False),
    "bool/1": st.booleans(),
    "date/1": st.dates(),
    "datetime/1": st.datetimes(timezones=ZONES).flatmap(folded),
    "time/1": st.times(timezones=ZONES).flatmap(folded),
    "uuid/1": st.uuids(),
    "enum/1": st.text(),
    "json/1": JSON_VALUES,
}
ANY_CODEC_AND_TWO_VALUES = st.sampled_from(CODEC_IDS).flatmap(
    lambda codec_id: st.tuples(st.just(codec_id), VALUES[codec_id], VALUES[codec_id])
)


@pytest.mark.parametrize("test", cases("codec", "valid"))
def test_values_encode_and_decode_as_published(test: dict[str, Any]) -> None:
    codec, value = codec_named(test["codec"]), value_of(test["value"])
    stored = bytes.fromhex(test["storage"])
    assert codec.encode(value) == stored
    assert codec.encode(codec.decode(stored)) == stored
    assert codec.encode(codec.decode_many([stored])[0]) == stored
    if test["equality"] is None:
        with pytest.raises(InvalidValueError):
            codec.equality(value)
    else:
        assert codec.equality(value) == bytes.fromhex(test["equality"])


@pytest.mark.parametrize("test", cases("codec", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    codec = codec_named(test["codec"])
    with pytest.raises(error_of(test)):
        codec.encode(value_of(test["value"])) if "value" in test else codec.decode(bytes.fromhex(test["storage"]))
    if "storage" in test:
        with pytest.raises(ValueError):
            codec.decode_many([bytes.fromhex(test["storage"])])


def spelled(value: Any) -> str:
    """All that can be seen of a value; the order of a dict's members is not kept."""
    if isinstance(value, dict):
        return repr({name: spelled(value[name]) for name in sorted(value)})
    return repr([spelled(member) for member in value] if isinstance(value, list) else value)


def comparable(value: Any) -> Any:
    """As Python compares, but for truth, which is no number in JSON."""
    if isinstance(value, dict):
        return {name: comparable(member) for name, member in value.items()}
    return [comparable(m) for m in value] if isinstance(value, list) else (isinstance(value, bool), value)


@given(ANY_CODEC_AND_TWO_VALUES)
def test_every_value_comes_back_with_its_type_and_sign(case: tuple[str, Any, Any]) -> None:
    codec_id, value, other = case
    codec = codec_named(codec_id)
    once = codec.decode(codec.encode(value))
    assert (once, type(once), spelled(once)) == (value, type(value), spelled(value))
    many = codec.decode_many([codec.encode(value), codec.encode(other)])
    assert list(map(spelled, many)) == [spelled(value), spelled(other)]


@given(ANY_CODEC_AND_TWO_VALUES)
def test_equality_encodings_are_equal_exactly_when_the_values_are(case: tuple[str, Any, Any]) -> None:
    codec_id, value, other = case
    codec = codec_named(codec_id)
    assert (codec.equality(value) == codec.equality(other)) == (comparable(value) == comparable(other))


@given(st.sampled_from(CODEC_IDS).flatmap(lambda codec_id: st.tuples(st.just(codec_id), VALUES[codec_id])))
def test_a_width_is_that_of_every_value(case: tuple[str, Any]) -> None:
    codec = codec_named(case[0])
    assert codec.width in (None, len(codec.encode(case[1])))


@given(codec_id=st.sampled_from(CODEC_IDS), data=st.binary())
def test_decoding_gives_a_value_that_encodes_back_or_a_value_error(codec_id: str, data: bytes) -> None:
    codec = codec_named(codec_id)
    try:
        value = codec.decode(data)
    except ValueError:
        return
    assert codec.encode(value) == data


@pytest.mark.parametrize("codec_id", CODEC_IDS)
@pytest.mark.parametrize("value", [None, True, 1 + 1j, [1], object()])
def test_no_codec_takes_what_is_not_its_own(codec_id: str, value: object) -> None:
    if (codec_id, value) in (("bool/1", True), ("json/1", True), ("json/1", [1])):
        return
    with pytest.raises(InvalidValueError) as raised:
        codec_named(codec_id).encode(value)
    assert type(value).__name__ in str(raised.value)


def test_an_unknown_codec_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(DefinitionError, match="no codec 'str/2'; there are str/1, bytes/1, int64/1, int/1, float64/1"):
        codec_named("str/2")
