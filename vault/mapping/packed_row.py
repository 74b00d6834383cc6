"""Packed row: a row-bound value with the columns it is bound to, in one result column, so that one value opens it.

PostgreSQL: record_send(ROW(value, bound...)):
            | fields, 4 | then for each: | type oid, 4 | length, 4, -1 for NULL | bytes |
SQLite:     hex(value).hex(bound)...   with an integer as its decimal digits
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable
from struct import Struct
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, String
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from vault.definition import FieldDefinition
from vault.errors import SealedColumnError

__all__ = ["PackedRow", "unpacker"]

_LENGTH = Struct(">i").unpack_from


class PackedRow(ColumnElement[Any]):
    """Made when a SELECT or RETURNING is compiled; statements never hold it."""

    inherit_cache = False

    def __init__(
        self, sealed: "ColumnElement[Any]", bound: "list[ColumnElement[Any]]", kind: "TypeEngine[Any]"
    ) -> None:
        self.sealed = sealed
        self.bound = bound
        self.type = kind

    @property
    def _from_objects(self) -> list[Any]:
        return self.sealed._from_objects


@compiles(PackedRow)
def _hexadecimal(element: PackedRow, compiler: SQLCompiler, **kw: Any) -> str:
    if compiler.dialect.name not in {"sqlite", "default"}:
        raise SealedColumnError(f"row-bound fields are read on PostgreSQL and SQLite, not on {compiler.dialect.name}")
    kw = _inner(kw)
    parts = [f"hex({compiler.process(part, **kw)})" for part in (element.sealed, *element.bound)]
    return " || '.' || ".join(parts)


@compiles(PackedRow, "postgresql")
def _record(element: PackedRow, compiler: SQLCompiler, **kw: Any) -> str:
    kw = _inner(kw)
    parts = [compiler.process(element.sealed, **kw)]
    for part in element.bound:
        text = compiler.process(part, **kw)
        parts.append(f"convert_to({text}, 'UTF8')" if isinstance(part.type, String) else text)
    return f"record_send(ROW({', '.join(parts)}))"


def _inner(kw: dict[str, Any]) -> dict[str, Any]:
    """What is inside is no result column of its own."""
    return {**kw, "add_to_result_map": None, "within_columns_clause": False}


def unpacker(definition: FieldDefinition, dialect: Dialect) -> Callable[[Any], tuple[bytes | None, dict[str, object]]]:
    """A function from the result column to the sealed value and the row that it is bound to."""
    of_record = dialect.name == "postgresql"
    readers = [(bound.name, (_READ_BINARY if of_record else _READ_TEXT)[bound.codec_id]) for bound in definition.bound]

    def from_record(data: Any) -> tuple[bytes | None, dict[str, object]]:
        record = data if type(data) is bytes else bytes(data)
        (length,) = _LENGTH(record, 8)
        at = 12 + max(length, 0)
        sealed = None if length < 0 else record[12:at]
        row: dict[str, object] = {}
        for name, read in readers:
            (length,) = _LENGTH(record, at + 4)
            start = at + 8
            at = start + max(length, 0)
            row[name] = None if length < 0 else read(record[start:at])
        return sealed, row

    def from_hexadecimal(data: Any) -> tuple[bytes | None, dict[str, object]]:
        sealed, *bound = data.split(".")
        row = {name: read(bytes.fromhex(part)) for (name, read), part in zip(readers, bound, strict=True)}
        return bytes.fromhex(sealed) or None, row

    return from_record if of_record else from_hexadecimal


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _uuid(data: bytes) -> UUID:
    return UUID(bytes=data) if len(data) == 16 else UUID(data.decode())


_READ_BINARY: dict[str, Callable[[bytes], object]] = {
    "int64/1": _signed,
    "uuid/1": _uuid,
    "bytes/1": bytes,
    "str/1": bytes.decode,
}
_READ_TEXT: dict[str, Callable[[bytes], object]] = {
    **_READ_BINARY,
    "int64/1": lambda part: int(part) if part else None,  # hex(NULL) is empty, as in the missing row of an outer join
    "uuid/1": lambda part: UUID(part.decode()) if part else None,
}
