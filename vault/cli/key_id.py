"""Key id: eight hexadecimal digits on the command line."""

import re

import typer


def parse_key_id(text: str) -> bytes:
    """Raises: typer.BadParameter for anything but a whole key id."""
    if not re.fullmatch(r"[0-9a-fA-F]{8}", text):
        raise typer.BadParameter(f"{text!r} is no key id: write its 8 hexadecimal digits, see: noisevault keys list")
    return bytes.fromhex(text)
