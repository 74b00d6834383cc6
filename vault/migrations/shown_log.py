"""Shown log: warnings of migrations, which reach the person that runs one, whether or not env.py set logging up."""

import logging
from typing import Final

__all__ = ["warn"]

log: Final = logging.getLogger("alembic.noisevault")  # below Alembic's own, which alembic.ini shows


def warn(message: str, *arguments: object) -> None:
    """Log it; to stderr where nothing is set up, since Alembic's logger has a handler that shows nothing."""
    log.warning(message, *arguments)
    if not _is_handled():
        record = log.makeRecord(log.name, logging.WARNING, __file__, 0, message, arguments, None)
        if logging.lastResort is not None:
            logging.lastResort.handle(record)


def _is_handled() -> bool:
    logger: logging.Logger | None = log
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
