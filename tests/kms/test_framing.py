"""Framing, against vectors, and the reason for it: it can be taken apart in one way only."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.framing import framed, lp, unframed

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "kms_derive.json").read_text())["framing"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["comment"])
def test_framing_gives_the_published_bytes(case: dict[str, Any]) -> None:
    assert framed(*map(bytes.fromhex, case["parts"])).hex() == case["framed"]


@given(st.binary(max_size=8), st.lists(st.binary(max_size=8), max_size=5))
def test_what_is_framed_can_be_taken_apart(label: bytes, parts: list[bytes]) -> None:
    assert unframed(framed(label, *parts)) == [label, *parts]


@pytest.mark.parametrize("part", ["text", bytearray(b"x"), None, 1])
def test_only_bytes_are_framed(part: Any) -> None:
    with pytest.raises(TypeError, match="framing takes bytes"):
        lp(part)


@given(st.binary(max_size=24))
def test_bytes_are_taken_apart_only_if_framing_gives_them(data: bytes) -> None:
    try:
        parts = unframed(data)
    except ValueError:
        return
    assert b"".join(map(lp, parts)) == data


@pytest.mark.parametrize("data", [b"\x00", b"\x00\x00\x00", b"\x00\x00\x00\x01", lp(b"ab")[:-1], lp(b"ab") + b"\x00"])
def test_bytes_that_end_early_were_never_framed(data: bytes) -> None:
    with pytest.raises(ValueError, match="never framed"):
        unframed(data)
