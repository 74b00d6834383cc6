"""What each declared type seals, keeps and refuses, in real databases."""

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Engine,
    Float,
    Integer,
    Interval,
    LargeBinary,
    MetaData,
    Numeric,
    PickleType,
    String,
    Table,
    Text,
    Time,
    Uuid,
    and_,
    insert,
    null,
    select,
    text,
    true,
    update,
)
from sqlalchemy import Enum as SqlEnum
from sqlalchemy.dialects import mysql, postgresql

from vault import AnyInteger, Coded, Sealed, register_codec
from vault.errors import DefinitionError, FieldError, InvalidValueError, SealedColumnError
from vault.mapping.declared_type import codec_id_of, most_bytes, refuse_too_long
from vault.terms.term import BlindIndex


class Colour(Enum):
    RED = "plain§r"
    BLUE = "plain§b"


PAIR = register_codec(
    "test.words",
    1,
    encode=lambda words: "\0".join(sorted(words)).encode(),
    decode=lambda data: frozenset(data.decode().split("\0")),
)
ZONE = timezone(timedelta(hours=5, minutes=45))

DOCUMENT = {"a": [1, [2, None]], "f": 0.1, "n": 9007199254740993, "s": "žluť"}  # sorted, as it comes back

# A type, and values that come back as they are, each unequal to the others.
KINDS: list[tuple[str, Any, list[Any]]] = [
    ("boolean", Boolean, [True, False]),
    ("numeric", Numeric, [*map(Decimal, ("0.500", "1E+3", "-0.00", "0.004", "12345678901234567890.123456789012"))]),
    ("numeric(30, 12)", Numeric(30, 12), [*map(Decimal, ("0.004", "12345678901234567.123456789012", "1E+3"))]),
    ("date", Date, [date(1, 1, 1), date(9999, 12, 31)]),
    ("datetime", DateTime, [datetime(2031, 1, 1), datetime(2031, 1, 1, tzinfo=UTC)]),  # noqa: DTZ001
    ("datetime with zone", DateTime(timezone=True), [datetime(2031, 3, 30, 2, 30, 0, 1, ZONE)]),
    ("time", Time, [time(23, 59, 59, 999_999), time(0)]),
    ("enum", SqlEnum(Colour), [Colour.RED, Colour.BLUE]),
    ("enum by value", SqlEnum(Colour, values_callable=lambda kind: [one.value for one in kind]), [Colour.BLUE]),
    ("enum of texts", SqlEnum("plain§x", "plain§y"), ["plain§x", "plain§y"]),
    ("json", JSON, [DOCUMENT, [], {}, "plain§", 0, False, [1.5]]),
    ("any integer", AnyInteger, [0, -(2**63) - 1, 10**100]),
    ("own", Coded(PAIR), [frozenset({"plain§a"}), frozenset({"plain§b"})]),
    ("jsonb", postgresql.JSONB, [{"a": 1}]),
    ("uuid", Uuid, [uuid.UUID(int=7)]),
    ("padded", Sealed(Text, pad=64).stored, [""]),
]  # fmt: skip


def table_of(kind: Any, **options: Any) -> Table:
    return Table(
        f"kind_{uuid.uuid4().hex}",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("x", Sealed(kind, index=BlindIndex(low_entropy=True), **options)),
    )


@pytest.mark.parametrize(("kind", "values"), [pytest.param(kind, values, id=name) for name, kind, values in KINDS])
def test_k02_01_k02_03_k02_07_every_value_comes_back_as_it_was_and_is_found(
    clinic: Engine, kind: Any, values: list[Any]
) -> None:
    table = table_of(kind)
    x = table.c.x
    table.create(clinic)
    with clinic.begin() as connection:
        connection.execute(insert(table), [{"x": value} for value in [*values, None]])
    with clinic.begin() as connection:
        back = connection.scalars(select(x).order_by(table.c.id)).all()
        assert back == [*values, None]
        assert [str(value) for value in back[:-1]] == [str(value) for value in values]
        for at, value in enumerate(values, 1):
            assert connection.scalars(select(table.c.id).where(x == value)).all() == [at]
            assert at not in connection.scalars(select(table.c.id).where(x.not_in([value]))).all()
        assert connection.scalars(select(table.c.id).where(x.in_([values[-1], None]))).all() == [len(values)]
        connection.execute(update(table).where(table.c.id == 1).values(x=values[-1]))
        assert len(connection.scalars(select(table.c.id).where(x == values[-1])).all()) == (
            1 if len(values) == 1 else 2
        )
    with clinic.begin() as connection:
        table.drop(connection)


@pytest.mark.parametrize(
    "written",
    ["2031-03-30T02:30:00.000001+05:45", "2031-01-01T00:00:00"],
)
@pytest.mark.parametrize("zone", [True, False])
def test_k02_01_a_datetime_keeps_its_text(quick: Engine, written: str, zone: bool) -> None:
    table = table_of(DateTime(timezone=zone))
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table).values(x=datetime.fromisoformat(written)))
        assert connection.scalar(select(table.c.x)).isoformat() == written


@pytest.mark.parametrize(
    ("kind", "stored", "asked"),
    [
        (Numeric, Decimal("1.00"), Decimal("1.0")),
        (Numeric, Decimal("-0.00"), 0),
        (DateTime, datetime(2031, 3, 30, 2, 30, tzinfo=ZONE), datetime(2031, 3, 29, 20, 45, tzinfo=UTC)),
        (Float, -0.0, 0.0),
        (JSON, {"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}),
        (SqlEnum(Colour), Colour.RED, "RED"),
        (LargeBinary, b"\0a", bytearray(b"\0a")),
    ],
)
def test_equal_values_find_each_other(quick: Engine, kind: Any, stored: object, asked: object) -> None:
    table = table_of(kind)
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table).values(x=stored))
        assert connection.scalars(select(table.c.id).where(table.c.x == asked)).all() == [1]
        assert str(connection.scalar(select(table.c.x))) == str(stored)


@pytest.mark.parametrize(
    ("kind", "fits", "too_long"),
    [
        (String(3), "äöü", "äöüß"),
        (LargeBinary(3), b"abc", b"abcd"),
        (LargeBinary(3), memoryview(b"abc"), memoryview(b"\0" * 16).cast("q")),
        (Numeric(4, 2), Decimal("-12.34"), Decimal("123.4")),
        (Numeric(4, 2), Decimal("1.230"), Decimal("1.234")),
        (Numeric(4), Decimal("123.4"), Decimal("123.45")),
        (Numeric(4, 2), 12, 123),
        (Numeric(4, 2), Decimal("0E-9"), Decimal("1.2" + "0" * 40)),
    ],
)
def test_a_value_too_long_is_refused_before_it_is_cut(quick: Engine, kind: Any, fits: object, too_long: object) -> None:
    table = table_of(kind)
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"x": fits}, {"x": None}])
        with pytest.raises(InvalidValueError, match=r"kind_\w+\.x, row 1 of the batch") as raised:
            connection.execute(insert(table), [{"x": fits}, {"x": too_long}])
        with pytest.raises(InvalidValueError):
            connection.execute(update(table).values(x=too_long))
        assert len(connection.scalars(select(table.c.id)).all()) == 2
    assert raised.value.__context__ is None


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**7), max_value=10**7, places=5))
def test_what_a_numeric_takes_is_what_its_digits_hold(number: Decimal) -> None:
    check = refuse_too_long(Numeric(8, 3))
    assert check is not None
    fits = number == number.quantize(Decimal("0.001")) and abs(number) < 10**5
    try:
        check(number)
    except InvalidValueError:
        assert not fits
    else:
        assert fits
        longest = most_bytes(Numeric(8, 3))
        assert longest is not None
        assert len(str(number)) <= longest


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (Boolean, "VARBINARY(35)"), (Date, "VARBINARY(38)"), (DateTime(timezone=True), "VARBINARY(51)"),
        (Time, "VARBINARY(51)"), (Numeric(10, 2), "VARBINARY(68)"), (Numeric, "LONGBLOB"), (JSON, "LONGBLOB"),
        (AnyInteger, "LONGBLOB"), (SqlEnum(Colour), "VARBINARY(289)"), (SqlEnum("ä" * 128, "b"), "VARBINARY(545)"),
        (LargeBinary(100), "VARBINARY(134)"), (LargeBinary, "LONGBLOB"), (Uuid, "VARBINARY(50)"),
        (BigInteger, "VARBINARY(42)"), (String(60), "VARBINARY(274)"), (String(5000), "LONGBLOB"),
    ],
)  # fmt: skip
def test_columns_have_the_length_that_their_values_need(kind: Any, size: str) -> None:
    assert str(Sealed(kind).compile(dialect=mysql.dialect())) == size
    assert str(Sealed(kind).compile(dialect=postgresql.dialect())) == "BYTEA"


@pytest.mark.parametrize(
    ("kind", "options", "size"),
    [
        (Text, {"pad": 64}, "LONGBLOB"), (String(60), {"pad": 64}, "VARBINARY(290)"),
        (String(64), {"pad": 64}, "VARBINARY(354)"), (Text, {"width": 256}, "VARBINARY(290)"),
    ],
)  # fmt: skip
def test_padding_is_counted(kind: Any, options: dict[str, int], size: str) -> None:
    assert str(Sealed(kind, **options).compile(dialect=mysql.dialect())) == size


def test_padding_hides_how_long_values_are(clinic: Engine) -> None:
    table = table_of(String(60), pad=32)
    table.create(clinic)
    values = ["", "plain§a", "plain§" * 4]
    with clinic.begin() as connection:
        connection.execute(insert(table), [{"x": value} for value in values])
        assert connection.scalars(select(table.c.x).order_by(table.c.id)).all() == values
        lengths = {len(bytes(stored)) for stored in connection.scalars(text(f"SELECT x FROM {table.name}"))}
        assert lengths == {34 + 32}
        assert connection.scalars(select(table.c.id).where(table.c.x == "plain§a")).all() == [2]
        table.drop(connection)


def test_a_value_beyond_its_fixed_width_is_refused(quick: Engine) -> None:
    table = table_of(Text, width=16)
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table).values(x="fifteen bytes!!"))
        with pytest.raises(InvalidValueError, match="more than the 15 bytes"):
            connection.execute(insert(table).values(x="sixteen bytes!!!"))
        assert connection.scalars(select(table.c.id).where(table.c.x == "sixteen bytes!!!")).all() == []


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "decimal as float": (lambda: Sealed(Numeric(asdecimal=False)), "seal Float for floats"),
    "float as decimal": (lambda: Sealed(Float(asdecimal=True)), "Numeric for Decimal"),
    "uuid as text": (lambda: Sealed(Uuid(as_uuid=False)), "cannot be sealed"),
    "interval": (lambda: Sealed(Interval), "cannot be sealed"),
    "pickle": (lambda: Sealed(PickleType), "cannot be sealed"),
    "array": (lambda: Sealed(ARRAY(Integer)), "cannot be sealed"),
    "both": (lambda: Sealed(Text, pad=16, width=16), "not by both"),
    "needless": (lambda: Sealed(Date, pad=16), "leave pad= and width= out"),
    "pad": (lambda: Sealed(Text, pad=1), "from 2 to"),
}


@pytest.mark.parametrize("way", WRONG)
def test_a_declaration_that_cannot_work_is_refused_at_once(way: str) -> None:
    declare, words = WRONG[way]
    with pytest.raises(DefinitionError, match=words):
        declare()


@pytest.mark.parametrize("value", ["plain§GREEN", 7, Integer, ["RED"], b"RED"])
def test_what_is_no_label_is_refused_written_and_asked_and_not_shown(quick: Engine, value: object) -> None:
    table = table_of(SqlEnum(Colour))
    table.create(quick)
    with quick.connect() as connection:
        for statement in (
            insert(table).values(x=value),
            select(table.c.id).where(table.c.x == value),
            select(table.c.id).where(table.c.x.in_([value])),
        ):
            with pytest.raises(InvalidValueError, match="none of the labels of Colour") as raised:
                connection.execute(statement)
            assert "§" not in str(raised.value)
            assert raised.value.__context__ is None


def test_a_stored_label_that_the_enum_has_no_more_is_an_error_that_does_not_show_it(quick: Engine) -> None:
    table = table_of(SqlEnum("plain§old", "new", name="state"), table="states", column="state")
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table).values(x="plain§old"))
        later = Table(
            table.name, MetaData(), Column("id", Integer, primary_key=True),
            Column("x", Sealed(SqlEnum("new"), index=BlindIndex(low_entropy=True), table="states", column="state")),
        )  # fmt: skip
        with pytest.raises(FieldError, match=r"states\.state: the stored label is none of the Enum") as raised:
            connection.execute(select(later.c.x)).all()
    assert "§" not in str(raised.value)
    assert raised.value.__context__ is None


def test_an_enum_that_grows_fits_the_column_that_is_there(clinic: Engine) -> None:
    """MariaDB's columns have a length; labels of 255 bytes fit all of them, however short the first ones were."""
    longest = "\u00e4" * 127 + "z"
    assert len(longest.encode()) == 255
    before = table_of(SqlEnum("a"), table="grown", column="x")
    after = Table(
        before.name, MetaData(), Column("id", Integer, primary_key=True),
        Column("x", Sealed(SqlEnum("a", longest), index=BlindIndex(low_entropy=True), table="grown", column="x")),
    )  # fmt: skip
    before.drop(clinic, checkfirst=True)
    before.create(clinic)
    with clinic.begin() as connection:
        connection.execute(insert(before).values(id=1, x="a"))
        connection.execute(insert(after).values(id=2, x=longest))
        assert connection.scalars(select(after.c.x).order_by(after.c.id)).all() == ["a", longest]
        assert connection.scalars(select(after.c.id).where(after.c.x == longest)).all() == [2]
    before.drop(clinic)


def test_the_codec_of_a_subclass_is_that_of_its_type() -> None:
    assert codec_id_of(postgresql.TIMESTAMP(timezone=True)) == "datetime/1"
    assert codec_id_of(postgresql.ENUM("a", name="e")) == "enum/1"
    assert codec_id_of(mysql.TINYINT()) == "int64/1"


def test_json_null_is_refused_where_it_would_be_stored_as_a_number(quick: Engine) -> None:
    table = table_of(JSON)
    table.create(quick)
    with quick.begin() as connection:
        with pytest.raises(InvalidValueError, match="use None"):
            connection.execute(insert(table).values(x=JSON.NULL))
        connection.execute(insert(table).values(x=null()))
        connection.execute(insert(table), [{"x": None}, {"x": [None]}])
        assert connection.scalars(select(table.c.id).where(table.c.x.is_(None))).all() == [1, 2]


def test_a_truth_value_is_asked_by_equality_and_never_stands_alone(quick: Engine) -> None:
    table = table_of(Boolean)
    x = table.c.x
    table.create(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"x": True}, {"x": False}, {"x": None}])
        assert connection.scalars(select(table.c.id).where(x == True)).all() == [1]  # noqa: E712
        assert connection.scalars(select(table.c.id).where(x != True)).all() == [2]  # noqa: E712
        for ask in (lambda: x, lambda: ~x, lambda: and_(x, table.c.id > 0), lambda: x.is_(True), lambda: x == true()):
            with pytest.raises(SealedColumnError):
                connection.execute(select(table.c.id).where(ask()))
        with pytest.raises(InvalidValueError, match="holds bool, not int"):
            connection.execute(select(table.c.id).where(x == 1))


def test_a_part_of_a_json_value_cannot_be_asked_for() -> None:
    with pytest.raises(SealedColumnError, match="filter in Python"):
        _ = table_of(JSON).c.x["a"]
