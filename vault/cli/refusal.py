"""Refusal: the one line in which a command says why it did not do what was asked. It never quotes a row."""

from sqlalchemy.exc import OperationalError, SQLAlchemyError

from dp import DpError
from kms import KmsError
from vault.errors import VaultError

__all__ = ["refusal_of"]


def refusal_of(error: Exception) -> str | None:
    """None for what nobody expects: a fault of the program, of which its traceback tells more."""
    if isinstance(error, VaultError | KmsError | DpError):
        return str(error)
    if isinstance(error, SQLAlchemyError):
        return _of_database(error)
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.filename else str(error)
    return None


def _of_database(error: SQLAlchemyError) -> str:
    """The driver's own text may quote a row, unless it is of the connection alone."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    if isinstance(error, OperationalError) and error.statement is None and state is None:
        told = "".join(str(error.orig).splitlines()[:1])[:200]
        if "@" in told:  # what follows an @ within a password is taken for the host, and named
            told = f"{type(error).__name__}; in its URL an @ of a password is written %40"
        return f"the database of the data does not answer ({told})"
    told = f"{type(error).__name__}, SQLSTATE {state}" if state else type(error).__name__
    return f"the database refused or did not answer ({told}); its own log says more"
