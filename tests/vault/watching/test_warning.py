from fractions import Fraction

import pytest

from vault.watching.warning import Warned, in_words, percent


@pytest.mark.parametrize(
    ("names", "said"),
    [(("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")],
)
def test_of_many_names_the_first_are_said(names: tuple[str, ...], said: str) -> None:
    assert in_words(names) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(Fraction(1, 200), "0.5 %"), (Fraction(9, 10), "90 %"), (Fraction(1, 3), "33.3 %"), (Fraction(0), "0 %")],
)
def test_a_share_is_said_as_a_person_reads_it(share: Fraction, said: str) -> None:
    assert percent(share) == said


def test_a_warning_is_there_by_its_last_entry() -> None:
    assert Warned("code", "visits", ("ann",), "", 2, (3, 8)).last == 8
