"""What a batch cost in all, in words and for a program."""

from dataclasses import replace

import dp
from dp.answer import Answer
from dp.answers import Answers
from tests.dp.test_answer import ONE
from vault.cli.batch_display import ShownBatch

OTHER = replace(ONE, question="sum(x)")


def shown(price: dp.Price, *answers: Answer) -> ShownBatch:
    return ShownBatch.of(Answers(price, answers))


def test_a_batch_at_the_plain_sum_says_what_it_cost() -> None:
    whole = shown(dp.Price(2 * 10**9, 10**9), ONE, OTHER)
    assert whole.in_one_line() == "as one charge, the batch of 2 questions cost epsilon 2 in all"
    assert whole.in_json() == {"batch": 2, "epsilon": "2", "rho": "1", "delta": "0"}


def test_a_batch_that_cost_less_says_what_its_questions_add_up_to() -> None:
    whole = shown(dp.Price(15 * 10**8, 10**9, 10**12), ONE, OTHER)
    assert whole.in_one_line() == (
        "as one charge, the batch of 2 questions cost epsilon 1.5, delta 0.000001 in all, in place of epsilon 2"
    )
    assert whole.in_json() == {"batch": 2, "epsilon": "1.5", "rho": "1", "delta": "0.000001"}


def test_a_batch_with_gaussian_noise_cost_a_rho_alone() -> None:
    whole = shown(dp.Price.gaussian(3), ONE, replace(OTHER, nano_epsilon=None, nano_rho=3))
    assert whole.in_one_line() == "as one charge, the batch of 2 questions cost rho 0.000000003 in all"
    assert whole.in_json() == {"batch": 2, "epsilon": None, "rho": "0.000000003", "delta": "0"}


def test_one_question_is_one() -> None:
    assert "batch of 1 question cost epsilon 1 in all" in shown(dp.Price.pure(10**9), ONE).in_one_line()
