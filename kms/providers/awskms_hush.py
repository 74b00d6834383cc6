"""Hush: what botocore would log of a call, which carries a key and a login, is dropped, whatever the level."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["hushed"]

# Those that log bodies of requests or answers at DEBUG, or headers with a session token, or what gives credentials out
# and its answers. A filter serves only the logger it is on, not those below.
LOGGERS: Final = ("botocore.auth", "botocore.endpoint", "botocore.parsers", "botocore.utils")
_quiet: ContextVar[bool] = ContextVar("noisevault_awskms_hush", default=False)


class _Hush(logging.Filter):
    """Lets pass what other callers of botocore log, and other threads."""

    def filter(self, _: logging.LogRecord) -> bool:
        return not _quiet.get()


_hush: Final = _Hush()


@contextmanager
def hushed() -> Iterator[None]:
    """Within it, this thread's calls leave no body and no header in a log."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_hush)  # adds it once
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
