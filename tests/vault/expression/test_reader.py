from decimal import Decimal

import pytest

from vault.expression.errors import QuestionTextError
from vault.expression.reader import Reader


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.50", Decimal("1.5")), ("-1", Decimal(-1)), ("+ 2", Decimal(2)), ("-0", Decimal(0)), ("'-1'", "-1")],
)
def test_a_literal_has_a_sign_or_is_a_text(text: str, value: Decimal | str) -> None:
    found = Reader(text)._literal()
    assert (found, str(found)) == (value, str(value))


def test_a_list_is_all_numbers_or_all_texts() -> None:
    assert Reader("(1, -2)")._literals() == (1, -2)
    with pytest.raises(QuestionTextError, match="all numbers or all texts"):
        Reader("(1, 'a')")._literals()


@pytest.mark.parametrize("text", ["- 'a'", "--1", "a", ""])
def test_what_is_no_literal_is_pointed_at(text: str) -> None:
    with pytest.raises(QuestionTextError, match="number or a 'text'"):
        Reader(text)._literal()
