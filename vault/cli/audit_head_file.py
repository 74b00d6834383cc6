"""Audit head file: the last entry of the audit log, kept elsewhere, by which a log that went back is told later."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from dp.ledger.log.audit import AuditHead
from vault.errors import PolicyError

__all__ = ["read_head", "write_head"]

FORMAT: Final = "noisevault/1 audit head"
MAC_CHARACTERS: Final = 64


def read_head(file: Path) -> AuditHead:
    """Raises: PolicyError for what is no such file, OSError for one that cannot be read."""
    try:
        head = _head_in(json.loads(file.read_text(encoding="ascii")))
    except ValueError:
        head = None
    if head is None:
        raise PolicyError(f"{file} is no audit head: write one by: noisevault audit head FILE")
    return head


def write_head(file: Path, head: AuditHead) -> None:
    """All of it or nothing, so that whoever copies it meanwhile has one or the other. Raises: OSError."""
    text = json.dumps({"format": FORMAT, "sequence": head.sequence, "mac": head.mac}) + "\n"
    handle, name = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as content:
            content.write(text)
            content.flush()
            os.fsync(content.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _head_in(content: Any) -> AuditHead | None:
    # What maintain writes has no member of that name.
    if not isinstance(content, dict) or content.get("format", FORMAT) != FORMAT:
        return None
    sequence, mac = content.get("sequence"), content.get("mac")
    if type(sequence) is not int or sequence < 0 or not isinstance(mac, str):
        return None
    characters = MAC_CHARACTERS if sequence else 0  # nothing is signed before the first entry
    if len(mac) != characters or mac.strip("0123456789abcdef"):
        return None
    return AuditHead(sequence, mac)
