import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.answer import FORMAT, Answer, GroupAnswer, NoiseScale, PartValue
from dp.bounding import Caps
from dp.errors import AnswerFormatError

FRACTIONS = st.fractions()
ANSWERS = st.builds(
    Answer,
    question=st.text(),
    nano_epsilon=st.integers(1, 10**18),
    caps=st.builds(Caps, st.integers(1, 9), st.integers(1, 9)),
    noise=st.lists(st.builds(NoiseScale, st.text(), FRACTIONS, st.integers(1, 10**18)), max_size=3).map(tuple),
    groups=st.lists(
        st.builds(
            GroupAnswer,
            st.integers(0, 99),
            FRACTIONS,
            st.tuples(FRACTIONS, FRACTIONS),
            st.lists(st.builds(PartValue, st.text(), FRACTIONS), max_size=2).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)
ONE = Answer("count(*)", 10**9, Caps(2), (NoiseScale("count", Fraction(2), 10**9),), (GroupAnswer(0, Fraction(-3), (Fraction(-9), Fraction(3))),))  # fmt: skip  # noqa: E501


@given(answer=ANSWERS)
def test_an_answer_is_read_back_exactly(answer: Answer) -> None:
    stored = answer.to_json()
    assert Answer.from_json(stored) == answer
    assert Answer.from_json(stored).to_json() == stored


def test_the_stored_form_is_this() -> None:
    assert ONE.to_json() == (
        b'{"caps":{"groups":1,"rows":2},"delta":0,"format":"noisevault/1 answer","groups":[[0,"-3/1","-9/1","3/1",[]]],'
        b'"interval":"noise only, 95 %","mechanism":"discrete Laplace","nano_epsilon":1000000000,'
        b'"noise":[["count","2/1",1000000000]],"question":"count(*)"}'
    )


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"{", b'"x"', b"[" * 100_000, b"1" * 5000,
        ONE.to_json() + b"\n",
        ONE.to_json().replace(b"2/1", b"4/2"),
        ONE.to_json().replace(b"2/1", b"2"),
        ONE.to_json().replace(b"2/1", b"2/0"),
        ONE.to_json().replace(b'"rows":2', b'"rows":0'),
        ONE.to_json().replace(b'"rows":2', b'"rows":2.0'),
        ONE.to_json().replace(b'"delta":0', b'"delta":0, "more":1'),
        ONE.to_json().replace(FORMAT.encode(), b"noisevault/2 answer"),
        ONE.to_json().replace(b"count(*)", "é".encode()),
        json.dumps(json.loads(ONE.to_json())).encode(),
    ],
)  # fmt: skip
def test_other_bytes_are_refused(stored: bytes) -> None:
    with pytest.raises(AnswerFormatError):
        Answer.from_json(stored)


def test_an_answer_says_how_it_was_made() -> None:
    assert (ONE.mechanism, ONE.delta, ONE.interval_label) == ("discrete Laplace", 0, "noise only, 95 %")
