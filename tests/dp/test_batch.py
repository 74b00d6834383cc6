"""A batch as one request: its text, its parameters and its price."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.batch import Batch, BatchQuestion, batch_price
from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.plan import plan
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.question import Question
from dp.questions.undeclared_groups import UndeclaredGroups
from tests.dp.ledger.sealing import a_request
from tests.sizes import sized

COUNT = Count(Caps(1))
MILLIONTH = 10**12


def one(text: str = "count(*)", nano: int = 10**8, question: Question = COUNT, **others: object) -> BatchQuestion:
    return BatchQuestion(a_request(nano, text, **others), question, list)


def request_of(questions: Sequence[BatchQuestion], atto_delta: int = 0) -> object:
    return Batch.of(questions, atto_delta).request


@settings(deadline=None, max_examples=sized(30, 500))
@given(st.dictionaries(st.text("ab\"',[é", min_size=1), st.integers(1, 10**9), min_size=2, max_size=6), st.randoms())
def test_the_order_makes_no_other_batch(asked: dict[str, int], shuffle: object) -> None:
    questions = [one(text, nano) for text, nano in asked.items()]
    first = Batch.of(questions, MILLIONTH)
    shuffle.shuffle(questions)  # type: ignore[attr-defined]
    again = Batch.of(questions, MILLIONTH)
    assert again == first
    assert [question.request.question_text for question in first.questions] == sorted(asked)
    assert first.request.price == plan([Price.pure(nano) for nano in asked.values()], MILLIONTH).price


def test_the_text_is_that_of_the_questions() -> None:
    request = Batch.of([one("sum(x)"), one("count(*)")], 0).request
    assert request.question_text == '{"format":"noisevault/1 batch","questions":["count(*)","sum(x)"]}'
    assert request.group_labels == ()


@pytest.mark.parametrize(
    "other",
    [
        [one("a", question=Mean(Caps(1), Grid.of(0, 10, 1))), one("b")],
        [one("a", parameters="table t"), one("b")],
        [one("a", group_labels=("x",)), one("b")],
        [one("a", 10**8 + 1), one("b", 10**8 - 1)],
        [one("a", price=Price.approximate(10**8, 1), question=UndeclaredGroups(Caps(1))), one("b")],
        [one("a"), one("c")],
        [one("a"), one("b"), one("c")],
    ],
)
def test_all_that_is_public_about_a_question_is_part_of_the_batch(other: list[BatchQuestion]) -> None:
    assert request_of(other) != request_of([one("a"), one("b")])


def test_prices_that_are_shared_out_otherwise_make_another_batch_at_the_same_price() -> None:
    ways = [Batch.of([one("a", first), one("b", 5 - first)], 0).request for first in (1, 2, 3, 4)]
    assert len({request.parameters for request in ways}) == 4
    assert {request.price.nano_epsilon for request in ways} == {5}


def test_one_question_is_that_question_alone() -> None:
    question = one(parameters="table t")
    assert Batch.of([question], MILLIONTH) == Batch(question.request, (question,))


@pytest.mark.parametrize("atto_delta", [0, MILLIONTH])
def test_the_price_is_that_of_the_plan_and_of_one_question_its_own(atto_delta: int) -> None:
    many = [Price.pure(10**8)] * 40
    assert batch_price(many, atto_delta) == plan(many, atto_delta).price
    assert plan([Price.pure(10**9)], 10**17).price != Price.pure(10**9), "a delta would buy some epsilon"
    assert batch_price([Price.pure(10**9)], 10**17) == Price.pure(10**9)


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [one(), one()],
        [one(nano=10**8), one(nano=10**7)],
        [one(), one("b", dataset="others")],
        [one(), one("b", epoch=2)],
        [one(), one("b", principal="bob")],
        [one(shared=True), one("b", principal="bob", shared=True)],
        [one(), one("b", shared=True)],
        [one(), one("b", group_labels=("x", "y"))],
        [one(), one("b", 1, Mean(Caps(1), Grid.of(0, 10, 1)))],
    ],
)
def test_what_is_no_batch_is_refused(questions: list[BatchQuestion]) -> None:
    with pytest.raises(ParameterError):
        Batch.of(questions, 0)
