from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.vector_cases import cases, value_of
from vault.errors import DefinitionError, InvalidValueError
from vault.normalise import WHITE_SPACE, casefold, digits, trimmed
from vault.normalisers import NORMALISER_IDS, normaliser_named

OF_WHOLE_TEXTS = [one for one in NORMALISER_IDS if not normaliser_named(one).partial]


def given_of(test: dict[str, Any]) -> Any:
    """A text is given as it is, another value with its kind."""
    return test["value"] if isinstance(test["value"], str) else value_of(test["value"])


@pytest.mark.parametrize("test", cases("normaliser", "valid"))
def test_texts_are_normalised_as_published(test: dict[str, Any]) -> None:
    assert normaliser_named(test["normaliser"]).apply(given_of(test)) == test["normalised"]


@pytest.mark.parametrize("test", cases("normaliser", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError) as raised:
        normaliser_named(test["normaliser"]).apply(given_of(test))
    assert str(test["value"]) not in str(raised.value)


@given(normaliser_id=st.sampled_from(OF_WHOLE_TEXTS), text=st.text())
def test_normalising_twice_is_normalising_once(normaliser_id: str, text: str) -> None:
    normaliser = normaliser_named(normaliser_id)
    try:
        once = normaliser.apply(text)
    except InvalidValueError:
        return
    assert normaliser.apply(once) == once


@given(st.text())
def test_upper_and_lower_case_fold_to_one(text: str) -> None:
    try:
        folded = casefold.apply(text)
    except InvalidValueError:
        return
    assert casefold.apply(text.casefold()) == folded


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_is_the_long_way(text: str) -> None:
    assert casefold.apply(text) == casefold.apply(text + "\u00e9").removesuffix("\u00e9")


def test_sharp_s_is_ss_in_every_case() -> None:
    assert len({casefold.apply(text) for text in ("Stra\u00dfe", "STRASSE", "Strasse", "STRA\u1e9eE")}) == 1


@given(text=st.text(), before=st.text(WHITE_SPACE), after=st.text(WHITE_SPACE))
def test_white_space_at_both_ends_does_not_count(text: str, before: str, after: str) -> None:
    assert trimmed.apply(before + text + after) == trimmed.apply(text)


@given(st.text(alphabet="0123456789 -()+./\u00a0\u2011x", min_size=1).filter(lambda t: any(c.isdigit() for c in t)))
def test_only_digits_count(text: str) -> None:
    assert digits.apply(text) == "".join(sign for sign in text if sign in "0123456789")


def test_an_unknown_normaliser_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(DefinitionError, match="exact/1, trimmed/1, digits/1, casefold/1, email/1"):
        normaliser_named("email/9")
