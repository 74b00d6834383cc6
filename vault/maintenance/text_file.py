"""Text file: written whole or not at all, for others to read; its readers never see half of it."""

import os
from pathlib import Path

__all__ = ["write_text_file"]


def write_text_file(path: Path, text: str) -> None:
    """By a draft beside it, which takes its place. Mode 0644: for what everybody may read. Raises: OSError."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
