import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.files.cell import EXPECTED, converter, found
from vault.policy import ColumnType


@given(st.uuids())
def test_every_uuid_is_read_in_its_one_spelling(value: UUID) -> None:
    assert converter("uuid")(str(value)) == value
    assert converter("uuid")(value.hex) is converter("uuid")(value.urn) is None


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_integer_of_64_bits_is_read_exactly(value: int) -> None:
    assert converter("int")(str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_read_exactly(value: float) -> None:
    read = converter("float")(repr(value))
    assert isinstance(read, float)
    assert read.hex() == value.hex()


@given(st.text())
def test_every_text_is_kept_as_it_stands(text: str) -> None:
    assert converter("str")(text) == text


@given(st.binary())
def test_every_hexadecimal_text_is_its_bytes(value: bytes) -> None:
    assert converter("bytes")(value.hex()) == converter("bytes")(value.hex().upper()) == value


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_k02_03_every_decimal_is_kept_as_it_is_written(value: Decimal) -> None:
    assert str(converter("decimal")(str(value))) == str(value)


ZONES = st.none() | st.integers(-86399, 86399).map(lambda seconds: timezone(timedelta(seconds=seconds)))


@given(st.datetimes(timezones=ZONES), st.sampled_from("T "))
def test_k02_01_every_date_and_time_is_read_exactly(value: datetime, between: str) -> None:
    read = converter("datetime")(value.isoformat(between))
    assert isinstance(read, datetime)
    assert read.isoformat() == value.isoformat()
    assert converter("date")(value.date().isoformat()) == value.date()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2031-03-30T02:30", "2031-03-30T02:30:00"),
        ("2031-03-30 02:30:00.5Z", "2031-03-30T02:30:00.500000+00:00"),
        ("2031-03-30T02:30:00.000001+05:45", "2031-03-30T02:30:00.000001+05:45"),
    ],
)
def test_a_date_and_time_may_be_spelled_in_these_ways(text: str, value: str) -> None:
    read = converter("datetime")(text)
    assert isinstance(read, datetime)
    assert read.isoformat() == value


def test_truth_is_written_in_two_words() -> None:
    assert [converter("bool")(text) for text in ("true", "false")] == [True, False]
    assert {converter("bool")(text) for text in ("True", "FALSE", "1", "0", "yes", "t", "", " true", "on")} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "20310330", "2031-W13-7", "2031-3-30", "2031-02-29", "0000-01-01", "30.03.2031", "2031-03-30T00:00", "",
        " 2031-03-30", "2031-03-30\n", "\uff12\uff10\uff13\uff11-03-30",
    ],
)  # fmt: skip
def test_what_is_not_plainly_a_date_is_refused(text: str) -> None:
    assert converter("date")(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "2031-03-30", "2031-03-30T24:00:00", "2031-03-30T02", "2031-03-30T0230", "2031-03-30t02:30", "now",
        "2031-03-30T02:30:60", "2031-03-30T02:30:00,5", "2031-03-30T02:30:00.1234567", "2031-03-30T02:30+0545",
        "2031-03-30T02:30+25:00", "2031-03-30  02:30", "1743300000",
    ],
)  # fmt: skip
def test_what_is_not_plainly_a_date_and_time_is_refused(text: str) -> None:
    assert converter("datetime")(text) is None


@pytest.mark.parametrize(
    "text",
    ["N/A", "1,7", "200.000.000", "$1,200", "00.11", "NaN", "Infinity", "+1", "1_0", "", "1e9999999999999999999"],
)
def test_k16_05_k14_03_what_is_not_plainly_a_decimal_is_refused(text: str) -> None:
    assert converter("decimal")(text) is None
    assert text not in found(text, "decimal") or not text


@pytest.mark.parametrize("text", ["00501", "0044 20", "007", "1e5", "NA", "Null", "None", "nan", "N/A", " x ", ""])
def test_k16_01_k16_03_a_text_column_never_reads_a_meaning_into_a_cell(text: str) -> None:
    assert converter("str")(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "1e5", "1.0", " 7", "7 ", "0x10", "１２", "٣", "007", "-0", "+5", "1_000", "1,000", "--1", "-", "", "x", "True",
        "½", "9223372036854775808", "-9223372036854775809", "9" * 5000, "7\n",
    ],
)  # fmt: skip
def test_what_is_not_plainly_an_integer_is_refused(text: str) -> None:
    assert converter("int")(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "nan", "inf", "-inf", "Infinity", "1_000", "1,7", "200.000.000", "$1,200", "00.11", "01", "1e999", "-1e999",
        "1e-999", "5.", ".", "e5", "1e", "+1", " 1", "1 ", "", "0x1p3", "１", "1\n", "1d5",
    ],
)  # fmt: skip
def test_k16_05_what_is_not_plainly_a_number_is_refused(text: str) -> None:
    assert converter("float")(text) is None


@pytest.mark.parametrize("text", ["abc", "0g", "0x00", "ab cd", " ab", "\uff11\uff11"])
def test_what_is_not_whole_bytes_is_refused(text: str) -> None:
    assert converter("bytes")(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12.0), ("-0.5", -0.5), (".5804244", 0.5804244), ("1E3", 1000.0), ("0e-999", 0.0), ("-0", -0.0)],
)
def test_a_float_may_be_spelled_in_these_ways(text: str, value: float) -> None:
    read = converter("float")(text)
    assert isinstance(read, float)
    assert (read, math.copysign(1, read)) == (value, math.copysign(1, value))


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("int", "", "an empty quoted cell"),
        ("int", " 7", "blanks around"),
        ("int", "9223372036854775808", "beyond the range"),
        ("int", "1.0", "with a point or an exponent"),
        ("int", "1e5", "with a point or an exponent"),
        ("int", "007", "declare the column as str"),
        ("int", "sesame", "a text"),
        ("float", "1e999", "beyond the range"),
        ("float", "1e-999", "beyond the range"),
        ("float", "00.11", "leading zero"),
        ("float", "1,7", "separators"),
        ("float", "$1,200", "separators"),
        ("float", "nan", "a text"),
        ("bytes", "abc", "an odd number"),
        ("bytes", "xy", "a text"),
        ("bool", "TRUE", "capital letters"),
        ("bool", "1", "a number"),
        ("decimal", "1,7", "separators"),
        ("decimal", "N/A", "a text"),
        ("date", "2031-02-29", "no calendar has"),
        ("date", "30.03.2031", "another order"),
        ("date", "2031-03-30T02:30", "declare the column as datetime"),
        ("datetime", "2031-03-30", "declare the column as date"),
        ("datetime", "2031-03-30T25:00", "no clock shows"),
        ("uuid", "6BA7B810-9DAD-41D1-80B4-00C04FD430C8", "another spelling"),
        ("uuid", "{6ba7b8109dad41d180b400c04fd430c8}", "another spelling"),
        ("uuid", "sesame", "a text"),
    ],
)
def test_an_unfit_text_is_told_by_its_kind(kind: ColumnType, text: str, said: str) -> None:
    assert said in found(text, kind)


@given(st.text(min_size=1).map(lambda text: f"sesame{text}"), st.sampled_from(sorted(EXPECTED)))
def test_k14_03_the_kind_of_a_text_holds_nothing_of_it(text: str, kind: ColumnType) -> None:
    assert "sesame" not in found(text, kind)
