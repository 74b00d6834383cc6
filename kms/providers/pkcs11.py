"""PKCS#11 provider: an AES key on a hardware token, which seals data keys by AES-GCM and cannot be read."""

import hmac
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeVar

from kms.errors import CannotUnwrapError, KeyNotFoundError, KmsError, MisconfiguredError, MissingExtraError

try:
    from pkcs11.exceptions import PKCS11Error
except ImportError:
    raise MissingExtraError("keys on PKCS#11 tokens need an extra: pip install 'noisevault[pkcs11]'") from None

from kms.private_file import read_private_file
from kms.provider import KekEnd, Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.pkcs11_address import Pkcs11Address, kek_identity, may_be_one_key
from kms.providers.pkcs11_failures import error_for, is_lost
from kms.providers.pkcs11_kek import SP_800_38D_IV_BYTES, SP_800_38D_TAG_BYTES, TokenKey
from kms.providers.pkcs11_module import Module, loaded_module, serial_text
from kms.secret import SecretKey, SecretText

__all__ = ["Pkcs11Provider"]

T = TypeVar("T")
# An object on a token has no versions: another key is another object, with another id.
ONLY_VERSION: Final = "1"


class Pkcs11Provider:
    """Wraps with C_Encrypt and unwraps with C_Decrypt, under a key that the token will not show.

    ciphertext: | IV, 12 | AES-256-GCM of the data key with the context as AAD | tag, 16 |
    The IV is drawn by this process from the operating system, not by the token: so the token must take it as given,
    which wrap() makes sure of.
    """

    def __init__(
        self,
        address: Pkcs11Address,
        pin: SecretText | None = None,
        *,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """pin: where the address names no file with it."""
        self._address = address
        self._held: tuple[int, TokenKey] | None = None
        if (pin is None) == (address.pin_file is None):
            raise MisconfiguredError(f"{address} needs its PIN in one place: pin-source=file:/PATH, or the settings")
        self._settings_pin = pin
        self._random = random
        self._module: Module = loaded_module(address.module)

    @classmethod
    def from_uri(cls, uri: str, settings: ProviderSettings = ProviderSettings()) -> "Pkcs11Provider":
        """The provider of pkcs11:token=...;object=...?module-path=... Raises: MisconfiguredError."""
        return cls(Pkcs11Address.parse(uri), settings.pin)

    @property
    def kek(self) -> str:
        """The exact key, once the token has been asked; before that, as it was asked for."""
        return str(self._address) if self._held is None else self._held[1].identity

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under a fresh random IV, bound to context."""
        iv = self._random(SP_800_38D_IV_BYTES)
        return self._on_token(lambda kek: Wrapped(iv + kek.seal(key, iv, context), kek.identity, ONLY_VERSION))

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys, in order; a token takes them one by one."""
        return self._on_token(lambda kek: [self._open(kek, one, context) for one, context in wrapped])

    def opens(self, kek: str) -> Opens:
        """The key that the address names; perhaps also one of the same token that may have been renamed since."""
        if not kek.startswith("pkcs11:"):
            return Opens.NO
        try:
            identity, _ = self.newest() if self._held is None else (self.kek, ONLY_VERSION)
        except KmsError:
            return Opens.PERHAPS
        if kek == identity:
            return Opens.SURELY
        return Opens.PERHAPS if may_be_one_key(kek, identity) else Opens.NO

    def require_destroyable(self, kek: str) -> None:
        """The key that the address names is the one, or was: its token is there, and it is not."""
        try:
            identity, _ = self.newest()
        except KeyNotFoundError:
            identity = self._with_session(self._named_on)
            if may_be_one_key(kek, identity):
                return
        if kek != identity:
            raise CannotUnwrapError(f"{kek} is not {identity}: give the URI of the right one")

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        """Take it off the token at once."""
        del waiting_days
        self.require_destroyable(kek)
        with suppress(KeyNotFoundError):
            self._with_session(self._take_off)
        return KekEnd(kek, now, final=True, remains="backups and clones of the token still hold the key")

    def _take_off(self) -> None:
        with self._module.writing_session(self._address, self._pin) as session:
            TokenKey.find(session, self._address).destroy()
        self._held = None

    def _named_on(self) -> str:
        """What the key that the address names is called, if it is on this token."""
        session = self._module.session(self._address, self._pin)
        return kek_identity(serial_text(session.token), self._address.id or b"", self._address.object or "")

    def _with_session(self, work: Callable[[], T]) -> T:
        with self._module.lock:
            try:
                return work()
            except PKCS11Error as raised:
                failure = self._error(raised)
        raise failure

    def newest(self) -> tuple[str, str]:
        """The one key that the address names, as the token describes it now."""
        return self._on_token(lambda kek: (kek.identity, ONLY_VERSION))

    def _on_token(self, work: Callable[[TokenKey], T]) -> T:
        """What work does with the key. If session or token was lost, it is looked for once more."""
        with self._module.lock:
            try:
                return work(self._found())
            except PKCS11Error as raised:
                failure, lost = self._error(raised), is_lost(raised)
            if lost:
                try:
                    self._module.start_anew()
                    return work(self._found())
                except PKCS11Error as raised:
                    failure = self._error(raised)
        raise failure  # here, where nothing of what was raised, and of its frames with a key in them, is kept

    def _found(self) -> TokenKey:
        """The key on the token, by a handle that is good for this epoch of the module."""
        if self._held is None or self._held[0] != self._module.epoch:
            session = self._module.session(self._address, self._pin)
            self._held = (self._module.epoch, TokenKey.find(session, self._address))
        return self._held[1]

    def _open(self, kek: TokenKey, one: Wrapped, context: bytes) -> SecretKey:
        iv, sealed = one.ciphertext[:SP_800_38D_IV_BYTES], one.ciphertext[SP_800_38D_IV_BYTES:]
        if len(sealed) <= SP_800_38D_TAG_BYTES:
            raise CannotUnwrapError("a wrapped key is too short: its row was changed, restore it from a backup")
        raw = kek.open(sealed, iv, context, probe_iv=self._random(SP_800_38D_IV_BYTES))
        if raw is not None:
            with suppress(ValueError):
                return SecretKey(raw)
            del raw  # somebody's secret, and the error shows this frame
            raise CannotUnwrapError(f"what {kek.identity} unwrapped is no key: its row was changed")
        if not hmac.compare_digest(one.kek.encode(), kek.identity.encode()):
            raise CannotUnwrapError(
                f"wrapped by {one.kek}, but the key is {kek.identity}: give the URI of the right one"
            )
        raise CannotUnwrapError(
            f"a wrapped key does not authenticate under {kek.identity}: its row was changed or moved, restore it from"
            " a backup"
        )

    def _pin(self) -> SecretText:
        """Read for each login, so that a new PIN in the file is taken. Raises: KeyFileError, MisconfiguredError."""
        if self._settings_pin is not None:
            return self._settings_pin
        path = self._address.pin_file
        assert path is not None  # noqa: S101  # __init__ says so
        content = read_private_file(path, "PIN file").rstrip(b"\r\n")
        if not content or not content.isascii():
            del content
            raise MisconfiguredError(f"the PIN file {path} holds no PIN: one line of ASCII")
        return SecretText(content.decode("ascii"))

    def _error(self, raised: PKCS11Error) -> KmsError:
        return error_for(raised, str(self._address), was_there=self._held is not None)

    def __repr__(self) -> str:
        return f"Pkcs11Provider({self.kek})"
