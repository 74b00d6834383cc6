"""Packed row: a row-bound value with the columns it is bound to, in one result column, so that one value opens it.

PostgreSQL: record_send(ROW(value, bound...)):
            | fields, 4 | then for each: | type oid, 4 | length, 4, -1 for NULL | bytes |
MariaDB:    length.length...: bytes bytes...   the lengths in decimal digits, empty for NULL; integers and UUIDs as text
SQLite:     hex(value).(n|i|r|t|b)hex(bound)...   the first letter of typeof(): a column there holds any type,
            and 'a' as text and as bytes are two rows; a number as its decimal digits
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, LargeBinary, String
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from vault.definitions.row_context import BoundColumn
from vault.errors import SealedColumnError

__all__ = ["PackedRow", "unpacker"]

Read = Callable[[bytes], object]
Unpack = Callable[[Any], tuple[bytes | None, dict[str, object]]]

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
        raise SealedColumnError(
            f"row-bound fields are read on PostgreSQL, MariaDB and SQLite, not on {compiler.dialect.name}"
        )
    kw = _inner(kw)
    parts = [f"hex({compiler.process(element.sealed, **kw)})"]
    for part in element.bound:
        text = compiler.process(part, **kw)
        parts.append(f"substr(typeof({text}), 1, 1) || hex({text})")
    return " || '.' || ".join(parts)


@compiles(PackedRow, "postgresql")
def _record(element: PackedRow, compiler: SQLCompiler, **kw: Any) -> str:
    kw = _inner(kw)
    parts = [compiler.process(element.sealed, **kw)]
    for part in element.bound:
        text = compiler.process(part, **kw)
        parts.append(f"convert_to({text}, 'UTF8')" if isinstance(part.type, String) else text)
    return f"record_send(ROW({', '.join(parts)}))"


@compiles(PackedRow, "mysql", "mariadb")
def _lengths_and_bytes(element: PackedRow, compiler: SQLCompiler, **kw: Any) -> str:
    kw = _inner(kw)
    parts = [compiler.process(element.sealed, **kw)]
    for part in element.bound:
        text = compiler.process(part, **kw)
        # Whatever the column's character set, and an integer as its digits: SQL would take its bytes for a number.
        is_bytes = isinstance(part.type, LargeBinary)
        parts.append(text if is_bytes else f"CAST(CONVERT({text} USING utf8mb4) AS BINARY)")
    lengths = ", ".join(f"IFNULL(LENGTH({part}), '')" for part in parts)
    contents = ", ".join(f"IFNULL({part}, '')" for part in parts)
    return f"CONCAT(CAST(CONCAT_WS('.', {lengths}) AS BINARY), ':', {contents})"


def _inner(kw: dict[str, Any]) -> dict[str, Any]:
    """What is inside is no result column of its own."""
    return {**kw, "add_to_result_map": None, "within_columns_clause": False}


def unpacker(label: str, bound: Sequence[BoundColumn], dialect: Dialect) -> Unpack:
    """A function from the result column to the sealed value and the bound columns of its row."""
    match dialect.name:
        case "postgresql":
            return _record_unpacker(_readers(bound, _READ_BINARY))
        case "mysql" | "mariadb":
            return _lengths_unpacker(label, _readers(bound, _READ_TEXT))
        case _:
            return _hexadecimal_unpacker(bound)


def _readers(bound: Sequence[BoundColumn], reading: Mapping[str, Read]) -> list[tuple[str, Read]]:
    return [(column.name, reading[column.codec_id]) for column in bound]


def _record_unpacker(readers: list[tuple[str, Read]]) -> Unpack:
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

    return from_record


def _lengths_unpacker(label: str, readers: list[tuple[str, Read]]) -> Unpack:
    def from_lengths(data: Any) -> tuple[bytes | None, dict[str, object]]:
        if data is None:  # so CONCAT gives what is too long; a missing row has its dots
            raise SealedColumnError(
                f"a value of {label} is longer than MariaDB's max_allowed_packet: raise that setting; or it was read"
                " alone by textual SQL, and is NULL: use select() of the column or its class"
            )
        lengths, _, contents = data.partition(b":")
        at, parts = 0, []
        for length in lengths.split(b"."):
            end = at + int(length or 0)
            parts.append(contents[at:end] if length else None)
            at = end
        sealed, *bound = parts
        row = {name: None if part is None else read(part) for (name, read), part in zip(readers, bound, strict=True)}
        return sealed, row

    return from_lengths


def _hexadecimal_unpacker(bound: Sequence[BoundColumn]) -> Unpack:
    uuids = {column.name for column in bound if column.codec_id == "uuid/1"}
    names = [column.name for column in bound]

    def from_hexadecimal(data: Any) -> tuple[bytes | None, dict[str, object]]:
        sealed, *parts = data.split(".")
        row: dict[str, object] = {}
        for name, part in zip(names, parts, strict=True):
            content = bytes.fromhex(part[1:])
            row[name] = _uuid(content) if name in uuids and part[0] == "t" else _READ_SQLITE[part[0]](content)
        return bytes.fromhex(sealed) or None, row

    return from_hexadecimal


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _text(data: bytes) -> object:
    """What is no text is given as it is, and then is not what the row's value was bound to."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _uuid(data: bytes) -> object:
    """What is no UUID is given as it is."""
    if len(data) == 16:
        return UUID(bytes=data)
    try:
        return UUID(data.decode())
    except ValueError:
        return data


_READ_BINARY: dict[str, Read] = {
    "int64/1": _signed,
    "uuid/1": _uuid,
    "bytes/1": bytes,
    "str/1": bytes.decode,
}
_READ_TEXT: dict[str, Read] = {**_READ_BINARY, "int64/1": int}
_READ_SQLITE: dict[str, Read] = {"n": lambda _: None, "i": int, "r": float, "t": _text, "b": bytes}
