import re
from collections import Counter
from math import log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.leakage import Leakage


def test_by_hand() -> None:
    found = Leakage.measured([b"a"] * 5 + [b"b"] * 3 + [b"c", b"d"] + [None] * 4)
    assert (found.rows, found.without_term, found.distinct, found.most_common) == (10, 4, 4, 5)
    assert found.most_common_share == 0.5
    assert found.min_entropy == 1.0
    # rows of a meet 5 others, of b 7, of c and d 9: (5*5 + 3*7 + 9 + 9) / 10 = 6.4, under 16 terms
    assert found.false_positives(4) == pytest.approx(6.4 / 16)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_false_positives_are_counted_over_rows(values: list[int]) -> None:
    found = Leakage.measured(values)
    counts = Counter(values)
    by_row = sum(len(values) - counts[value] for value in values) / len(values)
    assert found.false_positives(0) == pytest.approx(by_row)
    assert found.min_entropy == pytest.approx(-log2(max(counts.values()) / len(values)))
    widths = found.widths()
    assert [width.bits for width in widths] == sorted(width.bits for width in widths)
    assert [width.false_positives for width in widths] == sorted(
        (width.false_positives for width in widths), reverse=True
    )


def test_the_declared_and_the_advised_widths_are_among_those_told() -> None:
    found = Leakage.measured([value for value in range(1024) for _ in range(2)])
    assert found.hiding_bits == 8
    found = Leakage.measured([value for value in range(2048) for _ in range(2)])
    assert found.hiding_bits == 9
    assert {9, 13, 15} <= {width.bits for width in found.widths((13, 15, 256))}
    assert len(found.widths((13, 15, 256))) == len(found.widths()) + 2


def test_one_value_has_no_entropy_and_not_less() -> None:
    found = Leakage.measured(["x"] * 40)
    assert str(found.min_entropy) == "0.0"
    assert found.advice.startswith("no index: the one value is known")


def test_a_random_function_meets_as_many_as_expected() -> None:
    random = Random(7)
    values = [value for value in range(400) for _ in range(1 + value % 5)]
    counts: list[float] = []
    for _ in range(60):
        term = {value: random.randrange(64) for value in set(values)}
        rows = Counter(term[value] for value in values)
        own = Counter(values)
        counts.append(sum(rows[term[value]] - own[value] for value in values) / len(values))
    assert sum(counts) / len(counts) == pytest.approx(Leakage.measured(values).false_positives(6), rel=0.05)


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ([], "no value yet"),
        ([0], "1 values are too few to tell"),
        ([*range(10)], "10 values are too few to tell"),
        ([*range(40), 0], "41 values are too few to tell"),
        ([0, 1] * 10, "no index: of 2 values"),
        ([*range(50)], "full length: no two rows"),
        ([0, 1] * 500, "no index: of 2 values"),
        ([*range(1000)], "full length: no two rows"),
        ([*range(100), *[0] * 50], "shows the frequent values"),
        ([value for value in range(4096) for _ in range(2)], r"full length, if .*; else bits = 10"),
    ],
)
def test_advice(values: list[int], advice: str) -> None:
    found = Leakage.measured(values)
    assert re.search(advice, found.advice), found.advice


def test_one_value_alone_has_no_entropy_and_no_sign() -> None:
    assert str(Leakage.measured([b"a"]).min_entropy) == "0.0"


def test_the_bits_that_hide_leave_each_row_its_company() -> None:
    found = Leakage.measured([value for value in range(4096) for _ in range(2)])
    assert found.hiding_bits == 10, "4095 other values under 1024 terms are 4 each, under 2048 fewer than 2"
    assert found.false_positives(10) == pytest.approx(8190 / 1024)


def test_values_that_are_few_and_repeat_much_cannot_be_hidden_by_fewer_bits() -> None:
    found = Leakage.measured([value for value in range(120) for _ in range(168)])
    assert found.hiding_bits is None
    assert "fewer bits open too many rows" in found.advice
