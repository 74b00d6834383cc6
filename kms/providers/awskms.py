"""AWS KMS provider: a symmetric key of AWS KMS, which binds our context as its EncryptionContext."""

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final, TypeVar

from kms.errors import CannotUnwrapError, KeyNotFoundError, KmsError, MisconfiguredError, UnavailableError
from kms.fork import forget_in_child
from kms.patience import Patience
from kms.provider import KekEnd, Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.awskms_address import AwsKmsAddress
from kms.providers.awskms_arn import KeyArn
from kms.providers.awskms_client import KmsClient, checked_endpoint, connect
from kms.providers.awskms_context import encryption_context
from kms.providers.awskms_destroying import DAYS, deletion_date, why_not_deleted
from kms.providers.awskms_failures import error_for_exception
from kms.providers.awskms_hush import hushed
from kms.secret import SecretKey

__all__ = ["NOT_TOLD", "AwsKmsProvider"]

Given = TypeVar("Given")

# Encrypt does not say which key material it used; ReEncrypt does.
NOT_TOLD: Final = "not told"
_MATERIAL_ID: Final = re.compile(r"[0-9a-f]{64}")
# KMS API Reference, Decrypt: CiphertextBlob.
KMS_CIPHERTEXT_MAX_BYTES: Final = 6144
# Said in each request, so that a key that would not bind the context is refused.
ALGORITHM: Final = "SYMMETRIC_DEFAULT"
# Ours: KMS has no batch, so that many keys are asked for at the same time.
AT_ONCE: Final = 8


class AwsKmsProvider:
    """One call a key: Encrypt wraps, Decrypt unwraps, ReEncrypt rewraps, each pinned to the key that a row names.

    A login needs kms:Decrypt to use keys; kms:Encrypt too to make them; kms:ReEncryptFrom and kms:ReEncryptTo to
    rewrap them.
    """

    def __init__(self, address: AwsKmsAddress, settings: ProviderSettings, *, patience: Patience | None = None) -> None:
        self.uri = address.uri
        checked_endpoint(settings)
        self._address = address
        self._settings = settings
        self._patience = patience or Patience(deadline=settings.deadline)
        self.forget_after_fork()
        forget_in_child(self)

    @classmethod
    def from_uri(cls, uri: str, settings: ProviderSettings) -> "AwsKmsProvider":
        """The provider of awskms://ARN or awskms://alias/NAME?region=REGION. Raises: MisconfiguredError."""
        return cls(AwsKmsAddress.parse(uri), settings)

    def forget_after_fork(self) -> None:
        """A TLS connection is not shared by two processes."""
        self._client: KmsClient | None = None
        self._lock = threading.Lock()

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under the key that the URI names now, whose ARN is recorded, bound to context."""
        bound = encryption_context(context)
        answer = self._patience.persist(lambda: self._encrypt(key, bound), self._patience.end())
        if isinstance(answer, KmsError):
            raise answer
        return answer

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        """The keys, in order, each by the key that wrapped it, whatever an alias names by now."""
        return self._of_all(self._decrypt, wrapped)

    def rewrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[Wrapped]:
        """The keys under the newest material of the key that the URI names now; they stay inside KMS."""
        return self._of_all(self._re_encrypt, wrapped)

    def opens(self, kek: str) -> Opens:
        """Any key of the URI's region and account; where it says no account, the login's may be another."""
        try:
            self._address.key_id_of(kek)
        except CannotUnwrapError:
            return Opens.NO
        return Opens.PERHAPS if self._address.account is None else Opens.SURELY

    def require_destroyable(self, kek: str) -> None:
        """A login needs kms:DescribeKey, and kms:ScheduleKeyDeletion to destroy it."""
        metadata = self._described(kek)
        if isinstance(metadata, KmsError) and not isinstance(metadata, KeyNotFoundError):
            raise metadata

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        """Scheduled for waiting_days, 7 to 30, from now; one that is scheduled already keeps its date."""
        if waiting_days not in DAYS:
            raise MisconfiguredError(f"AWS KMS waits {DAYS[0]} to {DAYS[-1]} days, not {waiting_days}")
        metadata = self._described(kek)
        if isinstance(metadata, KeyNotFoundError):
            return KekEnd(kek, now, final=True)
        if isinstance(metadata, KmsError):
            raise metadata
        answer: dict[str, Any] | KmsError = metadata
        if metadata.get("KeyState") != "PendingDeletion":
            members = {"KeyId": metadata["KeyId"], "PendingWindowInDays": waiting_days}
            answer = self._persist(lambda: self._call("schedule_key_deletion", kek, **members))
        date = answer if isinstance(answer, KmsError) else deletion_date(kek, answer)
        if isinstance(date, KmsError):
            raise date
        return KekEnd(kek, date, final=True)

    def _described(self, kek: str) -> dict[str, Any] | KmsError:
        """What KMS says of the key, if it may be deleted or was; not by an alias, which may have moved."""
        try:
            pinned = self._address.key_id_of(kek)
        except CannotUnwrapError as elsewhere:
            return elsewhere
        answer = self._persist(lambda: self._call("describe_key", kek, KeyId=pinned))
        if isinstance(answer, KmsError):
            return answer
        metadata = answer.get("KeyMetadata")
        if not isinstance(metadata, dict):
            return UnavailableError(f"the endpoint of {kek} gave no proper answer")
        return why_not_deleted(kek, metadata) or metadata

    def _persist(self, call: Callable[[], dict[str, Any] | KmsError]) -> dict[str, Any] | KmsError:
        return self._patience.persist(call, self._patience.end())

    def _of_all(
        self, operation: Callable[[Wrapped, bytes], Given | KmsError], wrapped: Sequence[tuple[Wrapped, bytes]]
    ) -> list[Given]:
        """In order, a few at a time. After a failure no more are begun; the first in order is raised."""
        failed, end = threading.Event(), self._patience.end()

        def ask(pair: tuple[Wrapped, bytes]) -> Given | KmsError:
            if failed.is_set():  # by one before this in order, which is therefore what is raised
                return UnavailableError(f"{self.uri} was not asked again")
            if self._patience.is_over(end):
                return UnavailableError(f"the call for {self.uri} took until its deadline: is a longer one needed?")
            answer = self._patience.persist(lambda: operation(*pair), end)
            if isinstance(answer, KmsError):
                failed.set()
            return answer

        given: list[Given] = []
        with ThreadPoolExecutor(AT_ONCE) as pool:  # begins no thread before it is given work
            for answer in pool.map(ask, wrapped) if len(wrapped) > 1 else map(ask, wrapped):
                if isinstance(answer, KmsError):
                    raise answer
                given.append(answer)
        return given

    def _encrypt(self, key: SecretKey, bound: dict[str, str]) -> Wrapped | KmsError:
        answer = self._call(
            "encrypt",
            self.uri,
            KeyId=self._address.target,
            Plaintext=key.raw,
            EncryptionContext=bound,
            EncryptionAlgorithm=ALGORITHM,
        )
        return answer if isinstance(answer, KmsError) else self._wrapped(answer, NOT_TOLD)

    def _decrypt(self, one: Wrapped, context: bytes) -> SecretKey | KmsError:
        pinned = self._pinned(one)
        if isinstance(pinned, KmsError):
            return pinned
        answer = self._call(
            "decrypt",
            one.kek,
            KeyId=pinned,
            CiphertextBlob=one.ciphertext,
            EncryptionContext=encryption_context(context),
            EncryptionAlgorithm=ALGORITHM,
        )
        if isinstance(answer, KmsError):
            return answer
        if answer.get("KeyId") != one.kek.removeprefix("awskms://"):
            return CannotUnwrapError(f"a wrapped key was opened by another key than {one.kek}: its row was changed")
        try:
            return SecretKey(answer["Plaintext"])
        except (KeyError, TypeError, ValueError):
            return CannotUnwrapError(f"what {one.kek} unwrapped is no key: its row was changed")

    def _re_encrypt(self, one: Wrapped, context: bytes) -> Wrapped | KmsError:
        pinned = self._pinned(one)
        if isinstance(pinned, KmsError):
            return pinned
        bound = encryption_context(context)
        answer = self._call(
            "re_encrypt",
            f"{one.kek} or {self.uri}",
            CiphertextBlob=one.ciphertext,
            SourceKeyId=pinned,
            SourceEncryptionContext=bound,
            SourceEncryptionAlgorithm=ALGORITHM,
            DestinationKeyId=self._address.target,
            DestinationEncryptionContext=bound,
            DestinationEncryptionAlgorithm=ALGORITHM,
        )
        if isinstance(answer, KmsError):
            return answer
        if answer.get("SourceKeyId") != one.kek.removeprefix("awskms://"):
            return CannotUnwrapError(f"a wrapped key was opened by another key than {one.kek}: its row was changed")
        material = str(answer.get("DestinationKeyMaterialId"))
        return self._wrapped(answer, material if _MATERIAL_ID.fullmatch(material) else NOT_TOLD)

    def _pinned(self, one: Wrapped) -> str | KmsError:
        if not 0 < len(one.ciphertext) <= KMS_CIPHERTEXT_MAX_BYTES:
            return CannotUnwrapError(f"a wrapped key of {one.kek} is empty or too long: its row was changed")
        try:
            return self._address.key_id_of(one.kek)
        except CannotUnwrapError as elsewhere:
            return elsewhere

    def _wrapped(self, answer: dict[str, Any], version: str) -> Wrapped | KmsError:
        """What KMS wrapped and with which key, if that is one we can open again."""
        arn, ciphertext = KeyArn.parse(str(answer.get("KeyId"))), answer.get("CiphertextBlob")
        if arn is None or not isinstance(ciphertext, bytes):
            return UnavailableError(f"the endpoint of {self.uri} gave no proper answer")
        wrapped = Wrapped(ciphertext, arn.kek, version)
        pinned = self._pinned(wrapped)
        return pinned if isinstance(pinned, KmsError) else wrapped

    def _call(self, operation: str, kek: str, **members: Any) -> dict[str, Any] | KmsError:
        """The answer. Errors are returned, and raised by callers whose frames hold no key in the clear."""
        try:
            with hushed():  # credentials are asked for when the client is made
                answer = getattr(self._connected(), operation)(**members)
        except KmsError as ours:
            return type(ours)(*ours.args)  # without this frame, which holds a key
        except Exception as raised:  # noqa: BLE001  # whatever it is, its text may hold a body
            return error_for_exception(raised, kek)
        return answer if isinstance(answer, dict) else UnavailableError(f"the endpoint of {kek} gave no proper answer")

    def _connected(self) -> KmsClient:
        with self._lock:
            if self._client is None:
                self._client = connect(self._address.region, self._settings)
            return self._client

    def __repr__(self) -> str:
        return f"AwsKmsProvider({self.uri})"
