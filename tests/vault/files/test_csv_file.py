import gzip
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.open_files import open_files
from tests.sizes import sized
from tests.vault.files.written import given_away, table, written
from vault.errors import ImportRefusedError
from vault.files.csv_file import Row, numbered_rows
from vault.files.errors import CellError, FileError, HeaderError, RaggedRowError
from vault.policy import TablePolicy

PEOPLE = table("id", id="int", name="str", income="float", photo="bytes")
HEADER = "id,name,income,photo\n"


def read_rows(path: Path, into: TablePolicy, *, delimiter: str = ",") -> Iterator[Row]:
    """The rows without their lines."""
    return (row for _, row in numbered_rows(path, into, delimiter=delimiter))


def test_k15_01_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfid,name\r\n1,Ana\r\n")
    assert list(read_rows(path, table("id", id="int", name="str"))) == [{"id": 1, "name": "Ana"}]


def test_cells_become_values_of_the_declared_types(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + '1,Ana,1e3,00ff\n2,"",-0.5,""\n3,,,\n')
    assert list(read_rows(path, PEOPLE)) == [
        {"id": 1, "name": "Ana", "income": 1000.0, "photo": b"\x00\xff"},
        {"id": 2, "name": "", "income": -0.5, "photo": b""},
        {"id": 3, "name": None, "income": None, "photo": None},
    ]


def test_k15_03_a_record_of_several_lines_is_one_row_and_lines_are_the_files(tmp_path: Path) -> None:
    path = written(tmp_path, 'id,name\n1,"line1\nline2, still"\n\n2,x\n')
    rows = list(numbered_rows(path, PEOPLE))
    assert [(line, row["name"]) for line, row in rows] == [(2, "line1\nline2, still"), (5, "x")]


def test_k15_05_the_delimiter_is_given_and_never_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, 'name;note\n"A";"x, y\nz"\n')
    notes = table("name", name="str", note="str")
    with pytest.raises(HeaderError, match="if that is the delimiter, say so: --delimiter ';'"):
        list(read_rows(path, notes))
    assert list(read_rows(path, notes, delimiter=";")) == [{"name": "A", "note": "x, y\nz"}]


def test_k16_01_leading_zeros_are_kept_in_texts(tmp_path: Path) -> None:
    codes = table("code", code="str")
    path = written(tmp_path, 'code\n00501\n"0044 20"\n007\n1e5\n')
    assert [row["code"] for row in read_rows(path, codes)] == ["00501", "0044 20", "007", "1e5"]


def test_k16_03_only_an_unquoted_empty_cell_is_null(tmp_path: Path) -> None:
    path = written(tmp_path, 'id,name\n1,NA\n2,Null\n3,None\n4,nan\n5,N/A\n6,\n7,""\n8,NULL\n')
    assert [row["name"] for row in read_rows(path, PEOPLE)] == ["NA", "Null", "None", "nan", "N/A", None, "", "NULL"]


@pytest.mark.parametrize("cell", ['"1,7"', "200.000.000", '"$1,200"', "00.11", "N/A", "nan", '""', "1e999"])
def test_k16_05_a_number_in_another_form_is_an_error_that_names_line_and_column(tmp_path: Path, cell: str) -> None:
    path = written(tmp_path, f"id,income\n1,2.5\n2,{cell}\n")
    with pytest.raises(CellError, match="line 3: column income: expected a number") as caught:
        list(read_rows(path, PEOPLE))
    assert (caught.value.line, caught.value.column) == (3, "income")


def test_k14_03_a_wrong_cell_is_told_by_line_column_and_kind_and_nothing_of_the_row(tmp_path: Path) -> None:
    people = table("ssn", name="str", ssn="str", mail="str", income="float")
    path = written(tmp_path, "name,ssn,mail,income\nAna Test,000-12-3456,x@mail.example,N/A\n")
    with pytest.raises(CellError) as caught:
        list(read_rows(path, people))
    error = caught.value
    assert str(error) == "line 2: column income: expected a number such as -0.5 or 1e3, found a text"
    assert not [text for text in ("Ana", "000-12", "mail.example", "N/A") if text in given_away(error)]


def test_k17_05_a_cell_of_200_000_characters_is_read(tmp_path: Path) -> None:
    long = "x" * 200_000
    cells = ["a", "b", f'"{long}"', "d", "e"]
    path = written(tmp_path, "id,name\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)))
    assert [row["name"] for row in read_rows(path, PEOPLE)] == ["a", "b", long, "d", "e"]


@pytest.mark.parametrize(("row", "found"), [("2", 1), ("2,x,1,00,", 5), ('2,"x,1",00', 3), (",,,,,,", 7)])
def test_a_ragged_row_names_its_line_and_counts(tmp_path: Path, row: str, found: int) -> None:
    path = written(tmp_path, f"{HEADER}1,x,1,00\n{row}\n")
    with pytest.raises(RaggedRowError, match="line 3") as caught:
        list(read_rows(path, PEOPLE))
    assert (caught.value.found, caught.value.expected) == (found, 4)


@pytest.mark.parametrize("header", ["id,id\n", "id,\n", 'id,"na\nme"\n', "id,nothing\n", "name\n"])
def test_k17_08_an_odd_header_is_refused_before_any_row(tmp_path: Path, header: str) -> None:
    with pytest.raises(HeaderError):
        next(read_rows(written(tmp_path, header + "1,2\n"), PEOPLE))


def test_a_key_is_never_null(tmp_path: Path) -> None:
    with pytest.raises(CellError, match="line 2: column id: expected a whole number of 64 bits, found an empty cell"):
        list(read_rows(written(tmp_path, "id,name\n,x\n"), PEOPLE))


@pytest.mark.parametrize("content", ["", "\ufeff", "\n\n", "\r\n"])
def test_an_empty_file_is_refused_and_a_header_alone_is_no_rows(tmp_path: Path, content: str) -> None:
    with pytest.raises(HeaderError, match="the file is empty"):
        list(read_rows(written(tmp_path, content), PEOPLE))
    assert list(read_rows(written(tmp_path, "id,name"), PEOPLE)) == []


def test_a_row_has_every_column_of_the_table_in_the_tables_order_or_null(tmp_path: Path) -> None:
    (row,) = read_rows(written(tmp_path, "name,id\nAna,1\n"), PEOPLE)
    assert row == {"id": 1, "name": "Ana", "income": None, "photo": None}


def test_a_fault_comes_when_its_row_does_and_is_an_import_error(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, "id,name\n1,a\n2,b\nx,c\n"), PEOPLE)
    assert [next(rows)["id"], next(rows)["id"]] == [1, 2]
    with pytest.raises(ImportRefusedError, match="line 4"):
        next(rows)


@pytest.mark.parametrize("cell", ["2", "two"])
def test_a_file_is_not_kept_open_by_a_fault_or_by_who_stops_reading(tmp_path: Path, cell: str) -> None:
    rows = numbered_rows(written(tmp_path, HEADER + f"1,,,\n{cell},,,\n"), PEOPLE)
    next(rows)
    assert open_files(tmp_path)
    with nullcontext() if cell == "2" else pytest.raises(CellError) as refused:
        next(rows)
    if not refused:
        rows.close()
    assert open_files(tmp_path) == set()


def test_another_encoding_is_refused_after_gzip_too(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress("id,name\n1,José\n".encode("latin-1")), "file.csv.gz")
    with pytest.raises(FileError, match="line 2: not UTF-8"):
        list(read_rows(path, PEOPLE))


def test_reading_takes_no_more_memory_for_a_longer_file(tmp_path: Path) -> None:
    path = written(
        tmp_path, gzip.compress(b"id,name\n" + b"1," + b"x" * 200 + b"\n" + b'2,"y"\n' * sized(50_000, 400_000))
    )
    tracemalloc.start()
    try:
        rows = sum(1 for _ in read_rows(path, PEOPLE))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == sized(50_001, 400_001)
    assert peak < 2**20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is written anew each time
@given(
    st.lists(
        st.sampled_from([b"id", b"name", b",", b'"', b"\n", b"\r\n", b"7", b"x", b"\xff", b"\0", b"\x1f\x8b"]),
        max_size=16,
    )
)
def test_any_file_is_rows_or_one_file_error_without_a_chain(tmp_path: Path, parts: list[bytes]) -> None:
    path = written(tmp_path, b"".join(parts))
    try:
        rows = list(read_rows(path, PEOPLE))
    except FileError as error:
        chained = (error.__cause__, error.__context__)
    else:
        chained = (None, None)
        assert all(isinstance(row["id"], int) for row in rows)
    assert chained == (None, None)
