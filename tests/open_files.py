"""Open files: which files of a folder this process has open, as the system says it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

DESCRIPTORS: Final = Path("/proc/self/fd")


def open_files(folder: Path) -> set[str]:
    """Their names, relative to the folder. Empty where the system does not tell (it is Linux that does)."""
    found = set()
    for descriptor in DESCRIPTORS.iterdir() if DESCRIPTORS.is_dir() else ():
        with suppress(OSError):  # what was read the folder by is closed by now
            found.add(Path(os.readlink(descriptor)))
    return {str(file.relative_to(folder.resolve())) for file in found if file.is_relative_to(folder.resolve())}
