import csv
import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.files.written import given_away
from vault.files.errors import FileError
from vault.files.records import DELIMITERS, Record, records

TEXT = st.text(st.one_of(st.sampled_from('",;\r\n\t| a'), st.characters(exclude_categories=["Cs"])), max_size=6)
ROWS = st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(TEXT, min_size=n, max_size=n), max_size=5))


def read(text: str, delimiter: str = ",") -> list[Record]:
    return list(records(enumerate(io.StringIO(text, newline="\n"), 1), delimiter))


def cells(text: str, delimiter: str = ",") -> list[tuple[str | None, ...]]:
    return [record.cells for record in read(text, delimiter)]


@given(ROWS, st.sampled_from(DELIMITERS), st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written_quoted_is_read_exactly(rows: list[list[str]], delimiter: str, end: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    assert cells(file.getvalue(), delimiter) == [tuple(row) for row in rows]


@given(ROWS)
def test_what_another_writer_quotes_sparingly_is_read_but_for_nulls(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    assert [[cell or "" for cell in row] for row in cells(file.getvalue())] == rows


@given(ROWS)
def test_a_file_is_read_as_pyarrow_reads_it(rows: list[list[str]]) -> None:
    from pyarrow import csv as arrow

    if not rows:
        return
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    names = [f"c{place}" for place in range(len(rows[0]))]
    seen = arrow.read_csv(
        io.BytesIO(file.getvalue().encode()),
        read_options=arrow.ReadOptions(column_names=names),
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            column_types=dict.fromkeys(names, "string"),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    assert cells(file.getvalue()) == [tuple(row.values()) for row in seen.to_pylist()]


@given(st.text(st.sampled_from('",\n\ra'), max_size=30))
def test_any_text_is_records_or_one_error_that_names_a_line_in_order(text: str) -> None:
    seen: list[int] = []
    try:
        seen.extend(record.line for record in records(enumerate(io.StringIO(text, newline="\n"), 1)))
    except FileError as error:
        assert error.line is not None  # noqa: PT017
        seen.append(error.line)
    assert all(one < other for one, other in pairwise([0, *seen]))
    assert all(line <= text.count("\n") + 1 for line in seen)


def test_k15_03_a_line_break_inside_quotes_stays_in_its_cell() -> None:
    other = "x\u2028y\x85z\x0bv\x1cw"
    assert read(f'a,b,c\n1,"line1\nline2, still","{other}"\n2,,\n') == [
        Record(1, ("a", "b", "c")),
        Record(2, ("1", "line1\nline2, still", other)),
        Record(4, ("2", None, None)),
    ]


def test_k15_05_a_given_delimiter_is_the_only_one() -> None:
    assert cells('name;note\n"A";"x, y\nz"\n', ";") == [("name", "note"), ("A", "x, y\nz")]


def test_k16_03_an_empty_cell_is_null_and_a_quoted_empty_cell_is_not() -> None:
    assert cells('a,,""\n,"",\nNA,Null,None\nnan,N/A,NULL\n') == [
        ("a", None, ""),
        (None, "", None),
        ("NA", "Null", "None"),
        ("nan", "N/A", "NULL"),
    ]


def test_line_ends_may_be_mixed_and_the_last_may_lack() -> None:
    assert cells("a,b\r\n1,2\n3,4") == [("a", "b"), ("1", "2"), ("3", "4")]


def test_empty_lines_between_records_are_skipped_and_counted() -> None:
    assert read("\na,b\n\n\r\n1,2\n\n") == [Record(2, ("a", "b")), Record(5, ("1", "2"))]


def test_blanks_belong_to_the_cell() -> None:
    assert cells(" a , b\n") == [(" a ", " b")]


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ('a,b\n1,"x\ny,z\n', 2, "cell 2: its quote is not closed"),
        ('a,b\n"x', 2, "cell 1: its quote is not closed"),
        ('a,b\n1,"x"y\n', 2, "cell 2: something stands after its closing quote"),
        ('a,b\n1,"x" ,2\n', 2, "cell 2: something stands after its closing quote"),
        ('a,b\n1,5" pipe\n2,x\n', 2, "cell 2: a quote stands inside an unquoted cell"),
        ('a,b\n1, "x"\n', 2, "cell 2: a quote stands inside an unquoted cell"),
        ("a,b\r1,2\r", 1, "a carriage return"),
        ('a,b\n"1",x\ry\n', 2, "cell 2: a carriage return"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_at_its_line(text: str, line: int, hint: str) -> None:
    with pytest.raises(FileError, match=hint) as caught:
        read(text)
    assert caught.value.line == line


def test_a_quote_that_is_not_closed_does_not_take_the_rest_of_a_large_file() -> None:
    taken = 0

    def source() -> Iterator[tuple[int, str]]:
        nonlocal taken
        yield 1, 'a,"b\n'
        for taken in range(2, 10**9):
            yield taken, "x" * 2**20 + "\n"

    with pytest.raises(FileError, match="line 1: a quote is not closed within 16 MiB"):
        list(records(source()))
    assert taken < 30


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", " ", "a"])
def test_a_delimiter_is_one_of_four(delimiter: str) -> None:
    with pytest.raises(FileError, match="the delimiter is one of"):
        read("a", delimiter)


@pytest.mark.parametrize("text", ['sesame,"sesame"x\n', 'sesame,"sesame', 'sesame,sesame"\n', "sesame\rsesame"])
def test_k14_03_errors_and_records_show_no_cell(text: str) -> None:
    with pytest.raises(FileError) as caught:
        read(text)
    assert "sesame" not in given_away(caught.value)
    assert "sesame" not in repr(Record(1, ("sesame",)))
