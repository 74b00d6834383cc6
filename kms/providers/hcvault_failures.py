"""Transit failures: which of our errors an answer of Vault or OpenBao means.

Half of it can only be told by the text of the answer; those texts are in one table, which the tests hold
against a real server. An answer's body may carry other items' plaintexts, so no text of it is ever passed on.
"""

import re
from collections.abc import Iterable
from typing import Final

import hvac.exceptions as hv
import requests

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
    MisconfiguredError,
    UnavailableError,
)
from kms.providers.hcvault_adapter import PastDeadlineError, RedirectedError

__all__ = [
    "SOFT_DELETED",
    "TOO_COMPLEX",
    "error_for_exception",
    "error_for_text",
    "oldest_of",
    "path_of",
    "version_of",
]

# The listener's max_request_json_strings: the request is halved and sent again.
TOO_COMPLEX: Final = "refused JSON input due to high complexity"

_VERSION: Final = re.compile(rb"vault:v([1-9][0-9]{0,9}):")

RETIRED: Final = (
    "a wrapped key is of version {version} of {kek}, which is too old, retired or trimmed: lower its"
    " min_decryption_version by `bao write {path}/config min_decryption_version={version}`, then run"
    " `noisevault keys rewrap`; if the version was trimmed, restore the Transit key from a backup first"
)

SOFT_DELETED: Final = "{kek} is soft-deleted: run `bao write -f {path}/soft-delete-restore`"

TOO_NEW: Final = (
    "a wrapped key is of version {version} of {kek}, which has no such version: it is another key of that name, or was"
    " restored from a backup that is older than its last rotation; restore one that is newer"
)

# Of Go and of the server: they stand in an item of a batch whose other items went well, under the status of those.
OUTAGE_OF_ONE_ITEM: Final = (
    "internal error",
    "context deadline exceeded",
    "context canceled",
    "connection refused",
    "i/o timeout",
)

NOT_AUTHENTIC: Final = (
    "a wrapped key does not authenticate under {kek}: its row was changed or moved, or another key of that name was"
    " made; restore what changed from a backup"
)

_TEXTS: Final[tuple[tuple[str, type[KmsError], str], ...]] = (
    ("cipher: message authentication failed", CannotUnwrapError, NOT_AUTHENTIC),
    ("invalid ciphertext: version is too new", CannotUnwrapError, TOO_NEW),
    ("invalid ciphertext", CannotUnwrapError, "a wrapped key is not of {kek}: its row was changed"),
    ("missing ciphertext to decrypt", CannotUnwrapError, "a wrapped key is empty: its row was changed"),
    (
        "ciphertext or signature version is disallowed by policy",
        KeyVersionRetiredError,
        RETIRED,
    ),
    ("refusing to use soft-deleted key", KeyDisabledError, SOFT_DELETED),
    ("encryption key not found", KeyNotFoundError, "{kek} does not exist: create it with derived=true"),
    ("no handler for route", KeyNotFoundError, "nothing is mounted where {kek} should be: enable transit there"),
    ("namespace not found", MisconfiguredError, "the namespace of {kek} does not exist"),
    ("Client sent an HTTP request to an HTTPS server", MisconfiguredError, "the server of {kek} speaks https"),
    ("missing 'context' for key derivation", MisconfiguredError, "{kek} got no context: report this"),
    *((text, UnavailableError, "the server of {kek} is failing") for text in OUTAGE_OF_ONE_ITEM),
)

HEADER: Final = "the token or the namespace for {kek} is not one line of plain text: is there a line break in it?"

DENIED: Final = (
    "the policy of this login does not allow what was asked of {kek}: what each role needs is printed by"
    " `noisevault keys policy`"
)

LATE: Final = "the call for {kek} took until its deadline; if the server is only slow, set a longer deadline"

REDIRECTED: Final = (
    "the server of {kek} sends to another address, where no token of ours is taken: if it is a standby, write the"
    " address of the active node, or of a balancer that knows it"
)

# In this order: SSLError is a ConnectionError, and all of requests' errors are OSErrors.
_EXCEPTIONS: Final[tuple[tuple[type[Exception], type[KmsError], str], ...]] = (
    (PastDeadlineError, UnavailableError, LATE),
    (RedirectedError, UnavailableError, REDIRECTED),
    (requests.exceptions.SSLError, MisconfiguredError, "the TLS certificate of the server of {kek} is not trusted"),
    (requests.exceptions.InvalidURL, MisconfiguredError, "the address of {kek} cannot be used"),
    (requests.exceptions.InvalidHeader, MisconfiguredError, HEADER),
    (UnicodeEncodeError, MisconfiguredError, HEADER),
    (requests.exceptions.RequestException, UnavailableError, "the server of {kek} does not answer"),
    (hv.Forbidden, AccessDeniedError, DENIED),
    (hv.VaultDown, UnavailableError, "the server of {kek} is sealed or down"),
    (hv.VaultNotInitialized, UnavailableError, "the server of {kek} is not initialised"),
    (hv.RateLimitExceeded, UnavailableError, "the server of {kek} has a rate limit, which was reached"),
    (hv.InternalServerError, UnavailableError, "the server of {kek} is failing"),
    (hv.BadGateway, UnavailableError, "the server of {kek} is behind a failing gateway"),
    (hv.UnexpectedError, UnavailableError, "the server of {kek} gave an unexpected answer"),
    (hv.VaultError, MisconfiguredError, "the server refuses the request to {kek}"),
    (OSError, MisconfiguredError, "the CA file for {kek} cannot be read: check ca_file"),
)


def error_for_text(text: str, kek: str, *, wrapped_by: bytes = b"") -> KmsError | None:
    """Our error for what the server says about one item or a whole request, or None if it is not in the table.

    wrapped_by: the item's ciphertext, which begins with the version that wrapped it.
    """
    for fragment, error, advice in _TEXTS:
        if fragment in text:
            version = version_of(wrapped_by) or "N"
            return error(advice.format(kek=kek, path=path_of(kek), version=version))
    return None


def path_of(kek: str) -> str:
    """MOUNT/keys/NAME, as the server's own command wants it."""
    return kek.partition("://")[2].partition("/")[2]


def version_of(ciphertext: bytes) -> str | None:
    """The version that a Transit ciphertext says it is of, or None if it says none."""
    found = _VERSION.match(ciphertext)
    return found[1].decode("ascii") if found else None


def oldest_of(ciphertexts: Iterable[bytes]) -> bytes:
    """The ciphertext of the lowest version, or nothing if none of them says its version."""
    return min((one for one in ciphertexts if version_of(one)), key=lambda one: int(version_of(one) or 0), default=b"")


def error_for_exception(raised: Exception, kek: str, *, wrapped_by: bytes = b"") -> KmsError:
    """Our error for what hvac or requests raised; to be raised where nothing of `raised` is kept as its context.

    wrapped_by: as in error_for_text; of a batch, the ciphertext of the oldest version.
    """
    if isinstance(raised, hv.InvalidRequest | hv.InvalidPath):
        known = error_for_text(str(raised), kek, wrapped_by=wrapped_by)
        if known is not None:
            return known
    for kind, error, advice in _EXCEPTIONS:
        if isinstance(raised, kind):
            return error(f"{advice.format(kek=kek)} ({type(raised).__name__})")
    return UnavailableError(f"the server of {kek} gave no proper answer ({type(raised).__name__})")
