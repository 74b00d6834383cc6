from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dp
from dp.chunk import Chunk
from dp.questions.question import release
from tests.vault.projects import POLICY
from vault.deadline.outcome import Outcome
from vault.deadline.room import A_GROUP, room_of
from vault.policy import Policy
from vault.question import admit, parse
from vault.translation import labels, price_of

RULES = POLICY.format(database="sqlite:///a.db") + 'lifetime_delta = "1e-5"\nunknown.national_id = { delta = "1e-6" }\n'
VISITS = Policy.read(RULES, Path("/srv"))
GRID = dp.Grid(Fraction(1, 10**6), -(10**15), 10**15)
MOMENTS = [dp.Count(dp.Caps(1), 40), *(kind(dp.Caps(1), GRID, 40) for kind in (dp.Sum, dp.Mean, dp.Variance))]


def room(*texts: str) -> int:
    return room_of(VISITS.dataset["visits"], [admit(parse(text), VISITS, "visits") for text in texts])


def test_it_hangs_on_the_text_and_on_the_declared_groups() -> None:
    alone = room("count(*)")
    assert room("count(*) by site") == alone + len(" by site") + 2 * A_GROUP
    assert room("histogram(spending) by site") == alone + len("histogram(spending) by site") - 8 + 8 * A_GROUP
    assert room("count(*)", "count(*) by site") == alone + room("count(*) by site")
    more = len("count_units(*) by national_id") - len("count(*)")
    assert room("count_units(*) by national_id") == alone + more, "how many nobody declared is not known before"


@pytest.mark.parametrize("question", MOMENTS, ids=lambda question: type(question).__name__)
@pytest.mark.parametrize("nano", [20, 10**9])
def test_an_answer_fits_whatever_its_digits_are(question: dp.Question, nano: int) -> None:
    numbers = np.arange(400)
    rows = Chunk(numbers, (numbers % 40).astype(np.int32), numbers.astype(np.uint64), numbers * 1e12 + 0.123456)
    totals = question.aggregate(question.bound([rows], b"salt"))
    answer = release(question, "count(*)", totals, dp.Price.pure(nano)).to_json()
    given = room("count(*)") + 39 * A_GROUP
    assert len(Outcome.answered(answer, given).to_json()) == given


def test_the_labels_that_are_counted_are_those_of_the_answer() -> None:
    question = admit(parse("quantile(spending, 0.1, 0.9) by site"), VISITS, "visits")
    assert len(labels(VISITS.dataset["visits"], question)) == 6
    assert price_of(VISITS.dataset["visits"], question, 10**9).is_pure
