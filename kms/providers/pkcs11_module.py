"""PKCS#11 module: a vendor's library in this process, its lock, and the one session with each of its tokens.

The standard makes these process-wide: a library is initialised once, a login holds for all sessions with a token, and
without locks of its own (C_Initialize with no arguments) it is entered by one thread at a time. So there is one Module
a path, whoever uses it. It belongs to us: starting anew ends every session that this process has with it.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pkcs11
from pkcs11.exceptions import MultipleTokensReturned, NoSuchToken, PinIncorrect, PKCS11Error, UserAlreadyLoggedIn

from kms.errors import AccessDeniedError, MisconfiguredError
from kms.fork import forget_in_child
from kms.providers.pkcs11_address import Pkcs11Address
from kms.secret import SecretText

__all__ = ["Module", "loaded_module", "serial_text"]


class Module:
    """Use loaded_module(). Everything but .lock is called by the thread that holds it.

    epoch: changes whenever all sessions and handles have become void.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.epoch = 0
        self._library: Any = None
        self._sessions: dict[bytes, pkcs11.Session] = {}
        self._refused: dict[bytes, SecretText] = {}
        self._inherited = False
        self._forked_in_use = False
        forget_in_child(self)

    def session(self, address: Pkcs11Address, pin: Callable[[], SecretText]) -> pkcs11.Session:
        """A session with the token, logged in. pin: asked for when a login is due.

        Raises: PKCS11Error; AccessDeniedError for a PIN that the token has refused already; MisconfiguredError.
        """
        self._ready()
        token = self._token(address)
        if token.serial not in self._sessions:
            self._sessions[token.serial] = self._logged_in(token, pin(), address)
        return self._sessions[token.serial]

    def writing_session(self, address: Pkcs11Address, pin: Callable[[], SecretText]) -> pkcs11.Session:
        """Another session with the token, which may change what is on it; the caller closes it. Raises: as session."""
        self.session(address, pin)  # the login is the process's
        return self._token(address).open(rw=True)

    def _logged_in(self, token: pkcs11.Token, pin: SecretText, address: Pkcs11Address) -> pkcs11.Session:
        if pin == self._refused.get(token.serial):
            raise AccessDeniedError(
                f"the token refused this PIN for {address} before: it is not tried again, lest the token lock;"
                " correct it"
            )
        try:
            return token.open(user_pin=pin.reveal())
        except UserAlreadyLoggedIn:  # by other code in this process: the login is the process's, not a session's
            return token.open()
        except PinIncorrect:
            self._refused[token.serial] = pin
            raise
        except UnicodeEncodeError:  # which holds the PIN
            pass
        raise MisconfiguredError(f"the PIN for {address} has bytes in it that are no text: write it in UTF-8")

    def start_anew(self) -> None:
        """End all sessions and initialise the library again: tokens that were away are found. Raises: PKCS11Error."""
        self.epoch += 1
        self._sessions = {}
        with suppress(PKCS11Error):  # not initialised: what we want; otherwise initialize() says so
            self._library.finalize()
        self._library.initialize()
        self._inherited = False

    def forget_after_fork(self) -> None:
        """The child initialises the library itself, as the standard wants it, at its first use."""
        self._forked_in_use = self._forked_in_use or self.lock.locked()
        self._inherited = self._library is not None
        self._sessions = {}
        self.epoch += 1
        self.lock = threading.Lock()

    def _ready(self) -> None:
        if self._forked_in_use:
            raise MisconfiguredError(
                f"this process was forked in the midst of a call to {self.path}, which cannot be used here any more:"
                " start worker processes by spawn, or before other threads use the token"
            )
        if self._library is None:
            self._library = _load(self.path)
        elif self._inherited:
            self.start_anew()

    def _token(self, address: Pkcs11Address) -> pkcs11.Token:
        found: list[pkcs11.Token] = [token for token in self._library.get_tokens() if _fits(token, address)]
        if len(found) > 1:
            raise MultipleTokensReturned
        if not found:
            raise NoSuchToken
        return found[0]


_modules: dict[Path, Module] = {}


def loaded_module(path: Path) -> Module:
    """The Module of that path in this process. The library is loaded at its first use."""
    return _modules.setdefault(path.resolve(), Module(path.resolve()))


def _load(path: Path) -> Any:
    try:
        return pkcs11.lib(str(path))
    except PKCS11Error:
        raise MisconfiguredError(f"{path} cannot be loaded as a PKCS#11 module: check module-path") from None


def _fits(token: pkcs11.Token, address: Pkcs11Address) -> bool:
    wanted = (address.token, address.serial, address.manufacturer, address.model)
    there = (token.label, serial_text(token), token.manufacturer_id, token.model)
    return all(want is None or want == have for want, have in zip(wanted, there, strict=True))


def serial_text(token: pkcs11.Token) -> str:
    """The token's serial number, without the blanks that fill its field."""
    return token.serial.decode("utf-8", "replace").rstrip("\0 ")
