"""A key id is eight hexadecimal digits, whole."""

import pytest
import typer

from vault.cli.key_id import parse_key_id


def test_eight_digits_are_four_bytes() -> None:
    assert parse_key_id("00aaBB12") == bytes.fromhex("00aabb12")


@pytest.mark.parametrize("text", ["", "00aabb1", "00aabb123", "0x00aabb", "00aabb1g", "00aa bb1", "00aabb12\n"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="8 hexadecimal digits"):
        parse_key_id(text)
