"""Refusal: what is said of a sealed column that stands where it cannot, with what to write instead."""

from typing import Any, NoReturn

from sqlalchemy import Delete, Insert, Update
from sqlalchemy.sql.elements import BinaryExpression, Case, Cast, Over, Tuple, TypeCoerce, UnaryExpression
from sqlalchemy.sql.selectable import CompoundSelect, Select

from vault.errors import SealedColumnError

__all__ = ["refuse", "refuse_plaintext"]

BY_VALUE = "select the column itself and compute in Python after reading"
AS_EQUALS = "sort or group in Python after reading; equal values can be grouped by the term column"
SHARE = (
    'declare both with an index that they share, as BlindIndex(scope="...") of one name, and select its terms where a'
    " subquery stands between; or read one and ask the other for its value"
)

_REMEDIES: list[tuple[type[Any] | tuple[type[Any], ...], str, str]] = [
    ((Select, CompoundSelect, UnaryExpression), "ORDER BY, GROUP BY, DISTINCT or a condition", AS_EQUALS),
    (Over, "PARTITION BY or ORDER BY of a window", "use a plain column, or the term column to partition"),
    ((Cast, TypeCoerce), "a cast", BY_VALUE),
    (Case, "CASE", BY_VALUE),
    (Tuple, "a tuple", "compare the columns one by one with == or in_()"),
    (
        BinaryExpression,
        "this comparison",
        "write the column on the left of ==, !=, in_() or is_(None), and a plain value on the right",
    ),
    ((Insert, Update, Delete), "a value that is written", "read the value, then write it as a plain one"),
]


def refuse(element: Any, place: Any) -> NoReturn:
    """place: the part of the statement around element, or its name in SQL. Raises: SealedColumnError, always."""
    owner = element.type.owner
    label = "a sealed expression" if owner is None else owner.label
    word, remedy = _named(place) if isinstance(place, str) else _around(place)
    raise SealedColumnError(f"{label} is sealed and cannot stand in {word}: {remedy}")


def refuse_plaintext(column: Any) -> NoReturn:
    """column: the plaintext one of a migrating field. Raises: SealedColumnError, always."""
    raise SealedColumnError(
        f"{column.name} holds the plaintext of a field that is migrating, and is written, read and asked by the field's"
        " mode: name the sealed column instead"
    )


def _around(place: Any) -> tuple[str, str]:
    if getattr(place, "__visit_name__", "") == "label_reference":
        return _named("ORDER BY or GROUP BY")
    if isinstance(place, BinaryExpression) and all(_is_sealed(side) for side in (place.left, place.right)):
        return "a comparison with another column", SHARE
    for kinds, word, remedy in _REMEDIES:
        if isinstance(place, kinds):
            return word, remedy
    return "a function or another expression", BY_VALUE


def _is_sealed(side: Any) -> bool:
    return getattr(side.type, "owner", None) is not None


def _named(place: str) -> tuple[str, str]:
    match place:
        case "UNION ALL with another column":
            return place, "select each field in a column of its own"
        case "a parameter of its type":
            return place, "write by insert() or update() of its table alone, ask by == or in_() on the column itself"
        case "INSERT FROM SELECT":
            return place, "read the rows, then insert them"
        case "text().columns()":
            return place, "use select() with the mapped column"
        case "ORDER BY or GROUP BY":
            return place, AS_EQUALS
    return place, "sealed values are all different; leave it out, or name its term column instead"
