"""Head file: the last entry of the audit log, kept away from the ledger, so that a ledger put back is noticed.

{"mac": "...", "sequence": 12}
"""

import json
from dataclasses import dataclass
from pathlib import Path

from vault.errors import VaultError
from vault.maintenance.text_file import write_text_file

__all__ = ["HeadFileError", "KeptHead", "read_head_file", "write_head_file"]


class HeadFileError(VaultError):
    """The head that was kept, or the ledger, is not what it should be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class KeptHead:
    """Number and MAC of an entry of the audit log."""

    sequence: int
    mac: str


def read_head_file(path: Path) -> KeptHead | None:
    """None where there is no file. Raises: HeadFileError, OSError."""
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        sequence, mac = found["sequence"], found["mac"]
    except (KeyError, TypeError, ValueError):
        sequence, mac = None, None
    if type(sequence) is not int or not isinstance(mac, str):
        raise HeadFileError(
            f"{path} holds no head of an audit log: put it back from its copy; if there is none, verify the ledger by"
            " `noisevault check` and remove the file"
        )
    return KeptHead(sequence, mac)


def write_head_file(path: Path, head: KeptHead) -> None:
    """Raises: OSError."""
    write_text_file(path, json.dumps({"mac": head.mac, "sequence": head.sequence}) + "\n")
