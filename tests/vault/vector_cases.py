"""The published vectors, as pytest parameters and Python values."""

import json
import struct
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from vault import errors
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import BoundColumn
from vault.terms.term import BlindIndex

VECTORS = Path(__file__).parents[1] / "vectors"
Test = dict[str, Any]


def cases(name: str, result: str, **wanted: str) -> list[Any]:
    """The tests of one file with one result and the wanted members."""
    tests = json.loads((VECTORS / f"{name}.json").read_text())["tests"]
    found = [t for t in tests if t["result"] == result and all(t.get(k) == v for k, v in wanted.items())]
    assert found, "a vector file without such cases tests nothing"
    return [pytest.param(test, id=f"{test['tcId']}-{test['comment'].replace(' ', '_')}") for test in found]


def value_of(tagged: dict[str, Any] | None) -> Any:
    if tagged is None:
        return None
    ((kind, content),) = tagged.items()
    match kind:
        case "str" | "bool":
            return content
        case "bytes":
            return bytes.fromhex(content)
        case "int":
            return int(content)
        case "float":
            return struct.unpack(">d", bytes.fromhex(content))[0]
        case "uuid":
            return UUID(content)
        case "decimal":
            return Decimal(content)
        case "date":
            return date.fromisoformat(content)
        case "datetime" | "second datetime":
            return datetime.fromisoformat(content).replace(fold=int(kind != "datetime"))
        case "time" | "second time":
            return time.fromisoformat(content).replace(fold=int(kind != "time"))
        case "json":
            return json.loads(content)
    raise ValueError(kind)


def row_of(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {name: value_of(tagged) for name, tagged in row.items()}


def bound_of(bound: list[dict[str, str]]) -> tuple[BoundColumn, ...]:
    return tuple(BoundColumn(b["column"], b["codec"]) for b in bound)


def definition_of(field: dict[str, Any], *indexes: BlindIndex) -> FieldDefinition:
    return FieldDefinition(
        field["table"], field["column"], field["codec"], bound_of(field["bound"]), indexes, field["generation"]
    )


def error_of(test: Test) -> type[Exception]:
    return ValueError if test["error"] == "ValueError" else getattr(errors, test["error"])
