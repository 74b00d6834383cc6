"""Transit provider: a derived key of Vault's or OpenBao's Transit engine, which takes our context as its own."""

import base64
import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import hvac
import requests

from kms.deadline import ends, until
from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KmsError,
    MisconfiguredError,
    UnavailableError,
)
from kms.fork import forget_in_child
from kms.logins.login import VaultClient
from kms.logins.session import LoginSession
from kms.logins.token import Token
from kms.patience import Patience
from kms.provider import KekEnd, Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault_address import TransitAddress, same_path
from kms.providers.hcvault_client import connect, open_session
from kms.providers.hcvault_destroying import TransitDestroying
from kms.providers.hcvault_failures import (
    SOFT_DELETED,
    TOO_COMPLEX,
    error_for_exception,
    error_for_text,
    oldest_of,
    path_of,
    version_of,
)
from kms.providers.hcvault_tls import tls_error
from kms.secret import SecretKey, SecretText

__all__ = ["TransitProvider"]

Given = TypeVar("Given")
Pairs = Sequence[tuple[Wrapped, bytes]]

# The server's default of 1000 JSON strings a request allows 166 items with context and reference.
ITEMS_A_REQUEST: Final = 160
# A batch's failed items are told apart from the good ones; without this one failure hides the others.
PARTIAL_FAILURE_STATUS: Final = 200
_CIPHERTEXT: Final = re.compile(r"vault:v[1-9][0-9]*:[A-Za-z0-9+/]+={0,2}")


class _TooComplexError(MisconfiguredError):
    """The server takes fewer items a request than we sent."""


class TransitProvider:
    """Wraps with encrypt, unwraps with batched decrypt, rewraps with batched rewrap.

    The policy needs read on MOUNT/keys/NAME and update on MOUNT/encrypt/NAME to make keys, update on
    MOUNT/decrypt/NAME to use them, and update on MOUNT/rewrap/NAME to rewrap them; never create. A call, logins
    and further attempts included, begins no request after the settings' deadline.
    """

    def __init__(
        self, address: TransitAddress, settings: ProviderSettings, *, patience: Patience | None = None
    ) -> None:
        login = settings.login if settings.token is None else Token(settings.token)
        if login is None:
            raise MisconfiguredError(
                f"{address.kek} needs a token or a login in the settings; noisevault takes them from VAULT_TOKEN,"
                " BAO_TOKEN or NOISEVAULT_VAULT_LOGIN"
            )
        self.kek = address.kek
        self._address = address
        self._settings = settings
        self._patience = patience or Patience(deadline=settings.deadline)
        self._logins = LoginSession(login, self._client_with, self._explain, address.kek)
        self._destroying = TransitDestroying(address, self._request, self._logins, self._explain)
        self.forget_after_fork()
        forget_in_child(self)

    @classmethod
    def from_uri(cls, uri: str, settings: ProviderSettings) -> "TransitProvider":
        """The provider of hcvault://HOST:PORT/MOUNT/keys/NAME. Raises: MisconfiguredError."""
        address = TransitAddress.parse(
            uri, plain_http_to_loopback=settings.allow_plain_http_to_loopback, namespace=settings.namespace
        )
        return cls(address, settings)

    def forget_after_fork(self) -> None:
        """A TLS connection is not shared by two processes."""
        self._session: requests.Session | None = None
        self._lock = threading.Lock()

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under the newest version, bound to context; refused unless the Transit key derives by context."""
        with until(self._patience.end()):
            self._require_derived()
            data = self._write("encrypt", {"plaintext": _b64(key.raw), "context": _b64(context)})
        if isinstance(data, Exception):
            raise data
        try:
            ciphertext, version = data["ciphertext"].encode("ascii"), int(data["key_version"])
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise self._no_proper_answer() from None
        return Wrapped(ciphertext, self.kek, str(version))

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys, in order, by as few requests as the server takes."""
        with until(self._patience.end()):
            return self._in_batches("decrypt", self._key, wrapped)

    def rewrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[Wrapped]:
        """The keys under the newest version, in order, by as few requests as the server takes; none is shown to us."""
        with until(self._patience.end()):
            return self._in_batches("rewrap", self._rewrapped, wrapped)

    def opens(self, kek: str) -> Opens:
        """The Transit key of the URI; perhaps also what was its name on a server called otherwise."""
        if kek == self.kek:
            return Opens.SURELY
        return Opens.PERHAPS if same_path(kek, self.kek) else Opens.NO

    def require_destroyable(self, kek: str) -> None:
        """The policy needs read on MOUNT/keys/NAME, and delete on it to destroy it."""
        self._destroying.require_destroyable(kek)

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        """All versions at once; Transit has no waiting period."""
        del waiting_days
        return self._destroying.destroy(kek, now)

    def _in_batches(
        self,
        operation: str,
        read: Callable[[dict[str, Any]], Given | KmsError],
        wrapped: Sequence[tuple[Wrapped, bytes]],
    ) -> list[Given]:
        given: list[Given] = []
        size = ITEMS_A_REQUEST
        while len(given) < len(wrapped):
            batch = self._batch(operation, read, wrapped[len(given) : len(given) + size])
            if isinstance(batch, _TooComplexError) and size > 1:
                size //= 2
            elif isinstance(batch, Exception):
                raise self._of_another(batch, wrapped)
            else:
                given += batch
        return given

    def _batch(
        self,
        operation: str,
        read: Callable[[dict[str, Any]], Given | KmsError],
        wrapped: Sequence[tuple[Wrapped, bytes]],
    ) -> list[Given] | KmsError:
        items = [
            {"ciphertext": one.ciphertext.decode("ascii", "replace"), "context": _b64(context), "reference": str(place)}
            for place, (one, context) in enumerate(wrapped)
        ]
        body = {"batch_input": items, "partial_failure_response_code": PARTIAL_FAILURE_STATUS}
        data = self._write(operation, body, oldest_of(one.ciphertext for one, _ in wrapped))
        if isinstance(data, KmsError):
            return data
        results = data.get("batch_results")
        if not isinstance(results, list) or len(results) != len(items):
            return self._no_proper_answer()
        given: list[Given] = []
        for place, (result, (one, _)) in enumerate(zip(results, wrapped, strict=True)):
            # The server gives the reference back; one that is too old for it gives none.
            if not isinstance(result, dict) or result.get("reference") not in (None, "", str(place)):
                return self._no_proper_answer()
            answer = self._item_error(str(result["error"]), one) if result.get("error") else read(result)
            if isinstance(answer, KmsError):
                return answer
            given.append(answer)
        return given

    def _item_error(self, text: str, one: Wrapped) -> KmsError:
        known = error_for_text(text, self.kek, wrapped_by=one.ciphertext)
        return known or CannotUnwrapError(f"a wrapped key does not open under {self.kek}")

    def _of_another(self, error: KmsError, wrapped: Sequence[tuple[Wrapped, bytes]]) -> KmsError:
        """The error, or what is more likely: that a row names another KEK."""
        other = next((one.kek for one, _ in wrapped if one.kek not in {"", self.kek}), None)
        if other is None or not isinstance(error, CannotUnwrapError):
            return error
        return CannotUnwrapError(f"wrapped by {other}, but the key is {self.kek}: give the URI of the right one")

    def _key(self, result: dict[str, Any]) -> SecretKey | KmsError:
        try:
            return SecretKey(base64.b64decode(result["plaintext"], validate=True))
        except (KeyError, TypeError, ValueError):
            return CannotUnwrapError(f"what {self.kek} unwrapped is no key: its row was changed")

    def _rewrapped(self, result: dict[str, Any]) -> Wrapped | KmsError:
        """What is stored instead of the old bytes: so a version that is not the ciphertext's own is not believed."""
        ciphertext, version = result.get("ciphertext"), result.get("key_version")
        if not isinstance(ciphertext, str) or not _CIPHERTEXT.fullmatch(ciphertext):
            return self._no_proper_answer()
        if isinstance(version, bool) or version_of(ciphertext.encode("ascii")) != str(version):
            return self._no_proper_answer()
        return Wrapped(ciphertext.encode("ascii"), self.kek, str(version))

    def _require_derived(self) -> None:
        """Transit silently ignores the context of a key that is not derived; encrypt may create a missing key."""
        data = self._request(f"{self._address.mount}/keys/{self._address.key}", None)
        if isinstance(data, Exception):
            raise data
        if data.get("soft_deleted"):
            raise KeyDisabledError(SOFT_DELETED.format(kek=self.kek, path=path_of(self.kek)))
        if data.get("derived") is not True:
            raise MisconfiguredError(f"{self.kek} ignores the context of what it wraps: use a key with derived=true")

    def _write(self, operation: str, body: dict[str, Any], oldest: bytes = b"") -> dict[str, Any] | KmsError:
        return self._request(f"{self._address.mount}/{operation}/{self._address.key}", body, oldest)

    def _request(self, path: str, body: dict[str, Any] | None, oldest: bytes = b"") -> dict[str, Any] | KmsError:
        """The answer's data. Errors are returned, and raised by callers whose frames hold no body in the clear.

        oldest: of the ciphertexts in the body, the one of the oldest version.
        """
        return self._patience.persist(lambda: self._attempt(path, body, oldest), ends())

    def _attempt(self, path: str, body: dict[str, Any] | None, oldest: bytes) -> dict[str, Any] | KmsError:
        client = self._logins.client()
        if isinstance(client, KmsError):
            return client
        answer = self._sent(client, path, body, oldest)
        if isinstance(answer, AccessDeniedError):
            other = self._logins.client_after_refusal(client)
            if other is not None:
                answer = other if isinstance(other, KmsError) else self._sent(other, path, body, oldest)
        if isinstance(answer, KmsError):
            return answer
        if answer is None:
            return KeyNotFoundError(f"{self.kek} does not exist: create it with derived=true")
        data = answer.get("data") if isinstance(answer, dict) else None
        return data if isinstance(data, dict) else self._no_proper_answer()

    def _no_proper_answer(self) -> KmsError:
        return UnavailableError(f"the server of {self.kek} gave no proper answer")

    def _sent(self, client: VaultClient, path: str, body: dict[str, Any] | None, oldest: bytes) -> Any:
        try:
            return client.read(path) if body is None else client.write_data(path, data=body)
        except Exception as raised:  # noqa: BLE001  # whatever it is, its text may hold an answer's body
            return self._explain(raised, oldest)

    def _explain(self, raised: Exception, oldest: bytes = b"") -> KmsError:
        if isinstance(raised, hvac.exceptions.VaultError) and TOO_COMPLEX in str(raised):
            return _TooComplexError(f"the server of {self.kek} takes fewer JSON strings than one request needs")
        if isinstance(raised, requests.exceptions.SSLError):
            return tls_error(raised, self.kek, self._settings)
        return error_for_exception(raised, self.kek, wrapped_by=oldest)

    def _client_with(self, token: SecretText) -> hvac.Client:
        with self._lock:
            if self._session is None:
                self._session = open_session(self._address, self._settings)
            return connect(self._address, self._settings, token, self._session)

    def __repr__(self) -> str:
        return f"TransitProvider({self.kek})"


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
