"""Canonical JSON: the one spelling of a record that is signed, bound or compared."""

import json
from collections.abc import Mapping
from typing import Final, TypeAlias

Plain: TypeAlias = "str | int | tuple[Plain, ...] | list[Plain] | Mapping[str, Plain] | None"

_FINE: Final = frozenset({str, int, type(None)})
ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(record: Mapping[str, Plain]) -> bytes:
    """ASCII bytes with sorted keys and no white space; equal records give equal bytes, others never do.

    Raises: TypeError for a float (0.1 has many spellings), or anything else JSON leaves open.
    """
    _refuse_floats(record)
    return ENCODER.encode(record).encode("ascii")


def _refuse_floats(value: object) -> None:
    match value:
        case None | str() | int():
            return
        case list() | tuple():
            for item in value:
                if type(item) not in _FINE:
                    _refuse_floats(item)
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"a key of canonical JSON is text, not {type(key).__name__}")
                if type(item) not in _FINE:
                    _refuse_floats(item)
        case _:
            raise TypeError(f"canonical JSON holds text, integers and null, not {type(value).__name__}")
