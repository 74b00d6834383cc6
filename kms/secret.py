"""Secret key: key bytes that do not print, pickle, copy or compare in variable time."""

import hmac
from typing import Final, NoReturn, SupportsIndex

__all__ = ["SecretKey", "SecretText"]

# Ours: 128 to 512 bits. AES-256 and HMAC-SHA-256 keys here are all 32 bytes.
SECRET_KEY_MIN_BYTES: Final = 16
SECRET_KEY_MAX_BYTES: Final = 64


class _Guarded:
    """What both kinds of secret refuse: to be printed, pickled, copied or changed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is never pickled or copied: open the keyring in the other process")

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is not taken apart")

    def __copy__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is never copied: pass the object itself")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is never copied: pass the object itself")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} does not change")


class SecretKey(_Guarded):
    """16 to 64 bytes of key. Equality takes the same time whatever the bytes; there is no hash."""

    __slots__ = ("__weakref__", "_raw")
    _raw: bytes

    def __init__(self, raw: bytes) -> None:
        if not isinstance(raw, bytes):
            raise TypeError(f"a key is bytes, not {type(raw).__name__}: decode text first (bytes.fromhex)")
        if not SECRET_KEY_MIN_BYTES <= len(raw) <= SECRET_KEY_MAX_BYTES:
            raise ValueError(f"a key has {SECRET_KEY_MIN_BYTES} to {SECRET_KEY_MAX_BYTES} bytes, not {len(raw)}")
        object.__setattr__(self, "_raw", raw)

    @property
    def raw(self) -> bytes:
        """The key bytes, for a cipher or a MAC and nothing else."""
        return self._raw

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretKey):
            return NotImplemented
        return hmac.compare_digest(self._raw, other._raw)

    __hash__ = None  # type: ignore[assignment]  # a hash of the bytes would be a variable-time fingerprint


class SecretText(_Guarded):
    """A token or password that does not print; `.reveal()` gives it to the client library that needs it."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a secret text is str, not {type(text).__name__}")
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretText):
            return NotImplemented
        # What a terminal or a variable could not decode is no error here, which would hold the text.
        return hmac.compare_digest(*(text.encode("utf-8", "surrogatepass") for text in (self._text, other._text)))

    __hash__ = None  # type: ignore[assignment]
