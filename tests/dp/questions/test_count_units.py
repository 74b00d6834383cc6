import pytest

from dp.caps import Caps
from dp.errors import ParameterError
from dp.price import Price
from dp.questions.count_units import CountUnits
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row


def test_k20_05_a_unit_counts_once_however_many_rows_it_has() -> None:
    rows = [Row(person, person % 2, row) for person in range(1000) for row in range(1 + person % 4)]
    assert aggregates_of(CountUnits(Caps(1)), [row._replace(group=0) for row in rows]).totals == ((1000,),)
    assert aggregates_of(CountUnits(Caps(1), 2), rows).totals == ((500, 500),)


def test_a_unit_counts_in_no_more_groups_than_the_cap() -> None:
    rows = [Row(1, group, tie) for group in range(5) for tie in range(3)]
    for groups in (1, 2, 5):
        question = CountUnits(Caps(1, groups), 5)
        assert sum(aggregates_of(question, rows).totals[0]) == groups
        assert (question.parts[0].l1, question.parts[0].squared_l2) == (groups, groups)
        assert question.noise(Price.pure(10**9))[0].scale == groups


def test_caps_of_more_than_one_row_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^caps\.rows: .*Caps\(1, groups\)"):
        CountUnits(Caps(2))
