"""The context that a wrapped key is bound to, against vectors."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from kms.provider import Wrapped, wrap_context

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "kms_derive.json").read_text())["wrap"]


def context(case: dict[str, Any]) -> bytes:
    return wrap_context(
        bytes.fromhex(case["keyring"]), case["purpose"], bytes.fromhex(case["key_id"]), case["sequence"]
    )


@pytest.mark.parametrize("case", [c for c in CASES if c["result"] == "valid"], ids=lambda c: c["comment"])
def test_a_wrap_context_is_the_published_one(case: dict[str, Any]) -> None:
    assert context(case).hex() == case["context"]


@pytest.mark.parametrize("case", [c for c in CASES if c["result"] == "invalid"], ids=lambda c: c["comment"])
def test_what_names_no_place_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(getattr(builtins, case["error"])):
        context(case)


def test_a_wrapped_key_does_not_print_its_bytes() -> None:
    assert "secret" not in repr(Wrapped(b"secret", "local:00", "1"))
