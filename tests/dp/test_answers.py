"""The answers of a batch in their one stored form."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.answer import Answer
from dp.answers import FORMAT, Answers
from dp.errors import AnswerFormatError, ParameterError
from dp.price import Price
from tests.dp.test_answer import ANSWERS, ONE
from tests.sizes import sized
from tests.vectors.write_batch_answer_vectors import vectors

PRICES = st.builds(
    Price, st.none() | st.integers(1, 10**15), st.integers(1, 10**15), st.integers(0, 10**18 - 1)
)  # fmt: skip
SORTED = st.lists(ANSWERS, min_size=1, max_size=3, unique_by=lambda answer: answer.question).map(
    lambda answers: tuple(sorted(answers, key=lambda answer: answer.question))
)
TWO = Answers(Price(2 * 10**9, 10**9, 5), (ONE, replace(ONE, question="sum(x)")))
STORED = TWO.to_json()


@given(answers=st.builds(Answers, PRICES, SORTED))
@settings(deadline=None, max_examples=sized(30, 1_000))
def test_the_answers_of_a_batch_are_read_back_exactly(answers: Answers) -> None:
    stored = answers.to_json()
    assert Answers.from_json(stored) == answers
    assert Answers.from_json(stored).to_json() == stored
    assert [answers.to(answer.question) for answer in answers.answers] == list(answers.answers)


def test_the_stored_form_is_this() -> None:
    first, second = (answer.to_json().decode() for answer in TWO.answers)
    assert STORED.decode() == (
        f'{{"answers":[{first},{second}],"delta":5,"format":"noisevault/1 answers",'
        '"nano_epsilon":2000000000,"nano_rho":1000000000}'
    )


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"{", b"[" * 100_000,
        STORED + b"\n",
        STORED.replace(FORMAT.encode(), b"noisevault/2 answers"),
        STORED.replace(b'"noisevault/1 answer"', b'"noisevault/2 answer"'),
        STORED.replace(b"2/1", b"4/2"),
        STORED.replace(b'"delta":5', b'"delta":-5'),
        STORED.replace(b'"delta":5', b'"delta":5,"more":1'),
        STORED.replace(b"2000000000", b"2000000000.0"),
        STORED.replace(b"2000000000", b"0"),
        STORED.replace(b"sum(x)", b"count(*)"),
        STORED.replace(b"sum(x)", b"a(x)"),
        json.dumps(json.loads(STORED)).encode(),
        ONE.to_json(),
    ],
)  # fmt: skip
def test_other_bytes_are_refused(stored: bytes) -> None:
    with pytest.raises(AnswerFormatError):
        Answers.from_json(stored)


def test_one_answer_is_not_those_of_a_batch_nor_the_other_way_round() -> None:
    with pytest.raises(AnswerFormatError):
        Answer.from_json(STORED)


@pytest.mark.parametrize("answers", [(), (ONE, ONE), (replace(ONE, question="sum(x)"), ONE)])
def test_answers_are_at_least_one_in_order_and_each_once(answers: tuple[Answer, ...]) -> None:
    with pytest.raises(ParameterError):
        Answers(Price.pure(1), answers)


def test_there_is_no_answer_to_what_was_not_asked() -> None:
    with pytest.raises(KeyError):
        TWO.to("mean(x)")


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "answers.json").read_text())["tests"]


@pytest.mark.parametrize("test", VECTORS, ids=lambda test: test["comment"])
def test_the_published_vectors(test: dict[str, Any]) -> None:
    stored = test["stored"].encode()
    if test["result"] == "invalid":
        with pytest.raises(AnswerFormatError):
            Answers.from_json(stored)
        return
    answers, members = Answers.from_json(stored), json.loads(stored)
    assert answers.to_json() == stored
    assert [answer.question for answer in answers.answers] == test["questions"]
    price = answers.price
    assert [price.nano_epsilon, price.nano_rho, price.atto_delta] == [
        members["nano_epsilon"], members["nano_rho"], members["delta"],
    ]  # fmt: skip


def test_the_vectors_are_what_their_script_writes() -> None:
    assert vectors()["tests"] == VECTORS
