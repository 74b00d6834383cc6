"""Regular file: what the settings name is read only if it is one; a pipe could keep us waiting without end."""

import errno
import os
import stat
from pathlib import Path

__all__ = ["open_regular"]


def open_regular(path: Path | str) -> int:
    """A descriptor to read from. Raises: OSError, whose strerror says why in words."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError:  # a zero byte, say
        raise OSError(errno.EINVAL, "this is not a path") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is not a regular file")
