import pytest

from tests.vault.files.written import given_away, table
from vault.files.errors import HeaderError
from vault.files.header import columns_in_order
from vault.files.records import Record
from vault.policy import ColumnPolicy, TablePolicy

PEOPLE = table("id", id="int", email="str", age="float")


def order(*cells: str | None, delimiter: str = ",") -> tuple[str, ...]:
    return columns_in_order(Record(1, cells), PEOPLE, delimiter)


def test_columns_come_in_any_order() -> None:
    assert order("age", "id", "email") == ("age", "id", "email")


def test_k17_08_blanks_around_a_name_are_dropped() -> None:
    assert order(" id", "\temail ", "age") == ("id", "email", "age")


def test_columns_that_may_be_null_can_be_left_out() -> None:
    assert order("id") == ("id",)


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (("id", "email", "email"), "column email stands twice"),
        (("id", "email", " email "), "column email stands twice"),
        (("id", None), "column 2 of the header has no name"),
        (("id", ""), "column 2 of the header has no name"),
        (("id", "  "), "column 2 of the header has no name"),
        (("id", "em\nail"), "column 2 of the header is not in the table, which has: id, email, age"),
        (("id", "Email"), "upper and lower case count"),
        (("id", "email\xa0"), "column 2 of the header is not in the table"),
        (("email", "age"), "the header lacks id, which cannot be NULL"),
    ],
)
def test_k17_08_an_odd_header_is_refused(cells: tuple[str | None, ...], hint: str) -> None:
    with pytest.raises(HeaderError, match=hint) as caught:
        order(*cells)
    assert caught.value.line == 1


def test_a_column_that_is_never_null_cannot_be_left_out() -> None:
    strict = TablePolicy(
        key=("id",), column={"id": ColumnPolicy(type="int"), "x": ColumnPolicy(type="int", nullable=False)}
    )
    with pytest.raises(HeaderError, match="lacks x"):
        columns_in_order(Record(1, ("id",)), strict, ",")


@pytest.mark.parametrize(
    ("cell", "delimiter", "advice"),
    [
        ("id;email", ",", "--delimiter ';'"),
        ("id\temail", ",", r"--delimiter \$'\\t'"),
        ("id|email", ",", "'|'"),
        ("id,email", ";", "','"),
    ],
)
def test_k15_05_another_delimiter_is_not_guessed_but_advised(cell: str, delimiter: str, advice: str) -> None:
    with pytest.raises(HeaderError, match=advice.replace("|", r"\|")):
        order(cell, delimiter=delimiter)


@pytest.mark.parametrize("cells", [("7", "sesame@mail.example"), ("sesame;31",), ("id", "sesame")])
def test_a_file_without_a_header_gives_no_data_away(cells: tuple[str, ...]) -> None:
    with pytest.raises(HeaderError) as caught:
        order(*cells)
    assert "sesame" not in given_away(caught.value)
