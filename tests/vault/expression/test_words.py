import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.expression.errors import QuestionTextError
from vault.expression.words import LONGEST_QUESTION, Word, words


def test_a_text_falls_into_words_with_their_places() -> None:
    assert list(words(" a>=-1.5e3, 'it''s' ")) == [
        Word("name", "a", 2),
        Word("symbol", ">=", 3),
        Word("symbol", "-", 5),
        Word("number", "1.5e3", 6),
        Word("symbol", ",", 11),
        Word("text", "it's", 13),
        Word("end", "", 21),
    ]


def test_keywords_are_known_in_any_case_and_texts_are_no_keywords() -> None:
    first, second, _ = words("WHERE 'where'")
    assert first.says("where")
    assert not second.says("where")


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("a = 'x", 5, "not closed"),
        ('a = "x"', 5, "single quotes"),
        ("a = 1x", 5, "decimal number"),
        ("a = 1.2.3", 5, "decimal number"),
        ("a % 1", 3, "expected a name"),
        ("a = 1;", 6, "expected a name"),
        ("é", 1, "expected a name"),
        ("a = '\ud800'", 6, "half a character"),
    ],
)
def test_what_is_no_word_is_pointed_at(text: str, position: int, hint: str) -> None:
    with pytest.raises(QuestionTextError, match=hint) as caught:
        list(words(text))
    assert caught.value.position == position


def test_a_text_longer_than_a_question_is_refused_before_it_is_read() -> None:
    with pytest.raises(QuestionTextError, match="at most"):
        list(words("a" * (LONGEST_QUESTION + 1)))


@given(st.text(st.sampled_from("a1.'= ,<\"é"), max_size=20))
def test_words_cover_the_text_or_one_place_is_pointed_at(text: str) -> None:
    try:
        found = list(words(text))
    except QuestionTextError as error:
        reached = error.position
    else:
        reached = found[-1].position
        assert [word.position for word in found] == sorted({word.position for word in found})
    assert 1 <= reached <= len(text) + 1
