"""Declared type: what a column's SQL type says of its field's values: codec, length, and how Python sees them."""

# ruff: noqa: SLF001  # an Enum's labels by member have no public name: sqlalchemy<2.2 is pinned, and tests read them

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import (
    JSON,
    Boolean,
    Date,
    DateTime,
    Enum,
    Float,
    Integer,
    LargeBinary,
    Numeric,
    String,
    Time,
    Uuid,
)
from sqlalchemy.types import TypeEngine

from vault.codecs import codec_named
from vault.codecs.decimal_number import exact_decimal, normal_form
from vault.errors import DefinitionError, InvalidValueError
from vault.mapping.frozen_json import frozen
from vault.mapping.stored_types import Coded

__all__ = ["Conversion", "codec_id_of", "given", "most_bytes", "most_values", "refuse_too_long", "restored", "snapshot"]

MOST_UTF8_BYTES_A_CHARACTER: Final = 4
# Ours: beside its digits a number may be written with a sign, a point, an exponent, and trailing zeros.
NUMERIC_EXTRA_BYTES: Final = 24

# Ours: an Enum grows; its column has room for labels of 255 bytes, or of 511 where one is longer now, and so on.
ENUM_STEP_BYTES: Final = 256

# The first that fits: an Enum is a String to SQLAlchemy.
CODEC_OF: Final[tuple[tuple[type[Any], str], ...]] = (
    (Enum, "enum/1"),
    (String, "str/1"),
    (Integer, "int64/1"),
    (Float, "float64/1"),
    (Numeric, "decimal/1"),
    (LargeBinary, "bytes/1"),
    (Boolean, "bool/1"),
    (Date, "date/1"),
    (DateTime, "datetime/1"),
    (Time, "time/1"),
    (Uuid, "uuid/1"),
    (JSON, "json/1"),
)

Conversion = Callable[[Any], Any]


def codec_id_of(kind: TypeEngine[Any]) -> str:
    """The codec for a SQL type. Raises: DefinitionError for a type that has none."""
    if isinstance(kind, Coded):
        return kind.codec
    if isinstance(kind, Float | Numeric) and kind.asdecimal is isinstance(kind, Float):
        raise DefinitionError(f"{kind!r} cannot be sealed: seal Float for floats, Numeric for Decimal")
    if not isinstance(kind, Uuid) or kind.as_uuid:
        for sql_type, codec_id in CODEC_OF:
            if isinstance(kind, sql_type):
                return codec_id
    raise DefinitionError(
        f"{kind!r} cannot be sealed: seal Text, String, Integer, BigInteger, AnyInteger, Float, Numeric, Boolean, Date,"
        " DateTime, Time, Enum, JSON, LargeBinary, Uuid or Coded(codec)"
    )


def most_bytes(kind: TypeEngine[Any]) -> int | None:
    """How many bytes the longest storage encoding of the type's values may have; None for any number."""
    match kind:
        case Enum():
            longest = max((len(label.encode()) for label in kind.enums), default=0)
            return (longest // ENUM_STEP_BYTES + 1) * ENUM_STEP_BYTES - 1
        case String(length=int(length)):
            return length * MOST_UTF8_BYTES_A_CHARACTER
        case LargeBinary(length=int(length)):
            return length
        case Numeric(precision=int(precision)):
            return precision + NUMERIC_EXTRA_BYTES
    return codec_named(codec_id_of(kind)).width


def most_values(kind: TypeEngine[Any]) -> int | None:
    """How many different values the type has, NULL not counted; None where there are many, or any number."""
    match kind:
        case Boolean():
            return 2
        case Enum():
            return len(kind.enums)
        case Coded() if kind.codec == "bool/1":
            return 2
    return None


def refuse_too_long(kind: TypeEngine[Any]) -> Callable[[Any], None] | None:
    """A function that raises InvalidValueError, without a place, for a value beyond the type's length; None if it has
    none. A value of another type is left to the codec.
    """
    match kind:
        case Enum():
            return None
        case String(length=int(length)):
            return _text_limit(length)
        case LargeBinary(length=int(length)):
            return _bytes_limit(length)
        case Numeric(precision=precision, scale=scale) if precision is not None or scale is not None:
            return _digits_limit(precision, scale)
    return None


def given(kind: TypeEngine[Any]) -> Conversion | None:
    """What the type makes of a value that is written or asked for; None where that is the value itself."""
    if isinstance(kind, Enum):
        return _label_of(kind)
    return _no_json_null if isinstance(kind, JSON) else None


def restored(kind: TypeEngine[Any]) -> Conversion | None:
    """What the type makes of an opened value; None where that is the value itself."""
    if isinstance(kind, Enum):
        return _member_of(kind)
    return frozen if isinstance(kind, JSON) else None


def snapshot(kind: TypeEngine[Any]) -> Conversion | None:
    """For a type whose values could change in place, unnoticed: one that cannot; None for the others."""
    if isinstance(kind, JSON):
        return frozen
    return _as_bytes if isinstance(kind, LargeBinary) else None


def _as_bytes(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _no_json_null(value: Any) -> Any:
    """JSON.NULL is an int to Python, and would be stored as one."""
    if value is JSON.NULL:
        raise InvalidValueError("a sealed JSON column has no JSON.NULL beside SQL's NULL: use None")
    return value


def _label_of(kind: Enum) -> Conversion:
    labels = kind._valid_lookup

    def label(value: Any) -> Any:
        try:
            if value in labels:
                return labels[value]
        except TypeError:  # not hashable
            pass
        raise InvalidValueError(f"the value is none of the labels of {_name(kind)}")

    return label


def _member_of(kind: Enum) -> Conversion:
    members = kind._object_lookup

    def member(label: Any) -> Any:
        if label in members:
            return members[label]
        raise InvalidValueError(f"the stored label is none of {_name(kind)}: add it to the declared Enum")

    return member


def _name(kind: Enum) -> str:
    return "the Enum" if kind.enum_class is None else kind.enum_class.__name__


def _text_limit(length: int) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if isinstance(value, str) and len(value) > length:
            raise InvalidValueError(f"the text is longer than String({length})")

    return check


def _bytes_limit(length: int) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        size = (
            value.nbytes if isinstance(value, memoryview) else len(value) if isinstance(value, bytes | bytearray) else 0
        )
        if size > length:
            raise InvalidValueError(f"the value has more bytes than LargeBinary({length})")

    return check


def _digits_limit(precision: int | None, scale: int | None) -> Callable[[Any], None]:
    declared = f"Numeric({precision}, {scale})"

    def check(value: Any) -> None:
        number: Decimal = exact_decimal(value)
        if precision is not None and len(str(number)) > precision + NUMERIC_EXTRA_BYTES:
            raise InvalidValueError(f"the number is written longer than {declared} has room for: quantize() it")
        if not number.is_finite():
            return
        digits, exponent = normal_form(number)
        if scale is not None and digits and exponent < -scale:
            raise InvalidValueError(f"the number has more digits after the point than {declared}: quantize() it")
        before = len(digits) + exponent if scale is not None else len(digits)
        if precision is not None and before > precision - (scale or 0):
            raise InvalidValueError(f"the number has more digits than {declared}")

    return check
