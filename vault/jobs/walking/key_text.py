"""Key text: a primary key as one line of JSON, which people read and a later run takes up again.

Numbers, texts and NULL stand as they are; what JSON has no form for stands as {"kind": "text"}.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from vault.jobs.change import Key

__all__ = ["KeyNotKeptError", "key_digest", "read_key", "write_key"]


class KeyNotKeptError(ValueError):
    """A key of a kind that has no text here: the walk goes on, and a run that dies begins from the start."""


# By exact class, since a datetime is a date and a bool an int.
WRITE: Final[dict[type, tuple[str, Callable[[Any], str]]]] = {
    bytes: ("bytes", bytes.hex),
    UUID: ("uuid", str),
    Decimal: ("decimal", str),
    float: ("float", float.hex),
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    time: ("time", time.isoformat),
    timedelta: ("microseconds", lambda span: str(span // timedelta(microseconds=1))),
}
READ: Final[dict[str, Callable[[str], Any]]] = {
    "bytes": bytes.fromhex,
    "uuid": UUID,
    "decimal": Decimal,
    "float": float.fromhex,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "microseconds": lambda text: timedelta(microseconds=int(text)),
}


def write_key(key: Key) -> str:
    """Raises: KeyNotKeptError."""
    return json.dumps([_written(part) for part in key], ensure_ascii=True)


def read_key(text: str) -> Key:
    """The key whose text it is. Raises: ValueError for what write_key() did not write."""
    parts = json.loads(text)
    if not isinstance(parts, list) or not parts:
        raise ValueError("a key is a list of its parts")
    return tuple(map(_read, parts))


def key_digest(text: str) -> str:
    """SHA-256 in hex digits, by which a database finds a key of any length."""
    return hashlib.sha256(text.encode()).hexdigest()


def _written(part: Any) -> Any:
    if part is None or type(part) in {bool, int, str}:
        return part
    if isinstance(part, memoryview | bytearray):
        part = bytes(part)
    known = WRITE.get(type(part))
    if known is None:
        raise KeyNotKeptError(f"a key of type {type(part).__name__} has no text")
    kind, write = known
    return {kind: write(part)}


def _read(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    ((kind, text),) = part.items()
    if kind not in READ:
        raise ValueError(f"there is no key of kind {kind!r}")
    return READ[kind](text)
