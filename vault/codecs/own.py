"""Own codecs: those that an application registers, by a name of its own and a version, before it declares fields.

A name has a dot (`acme.iban`), which no codec of NoiseVault's has, so that the two can never be one.
"""

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from vault.codec import Codec
from vault.errors import DefinitionError, InvalidValueError

__all__ = ["own_codec", "own_codec_ids", "register_codec"]

LONGEST_NAME: Final = 80
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+", re.ASCII)

_Given = tuple[Callable[[Any], bytes], Callable[[bytes], Any], Callable[[Any], bytes]]
_registered: Final[dict[str, tuple[_Given, Codec]]] = {}
_registering: Final = threading.Lock()


def register_codec(
    name: str,
    version: int,
    *,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    equality: Callable[[Any], bytes] | None = None,
) -> Codec:
    """Register a codec `name/version` in this process, at import, before a field names it; and give it.

    encode: a value to bytes, raising for what it does not take. decode: those bytes to an equal value, raising for
    bytes that encode does not make. equality: bytes that are equal exactly when two values are; encode unless given.
    What they do is frozen with the first value stored: for another encoding register another version beside it.
    Values should be immutable, since a change in place is not noticed.
    Raises: DefinitionError for a bad name or version, and for another codec under a name that is taken.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise DefinitionError(
            f"an own codec is named in lower case with a dot, as 'acme.iban', in at most {LONGEST_NAME} characters;"
            f" not {name!r}"
        )
    if type(version) is not int or not 1 <= version <= 9999:
        raise DefinitionError(f"the version of a codec is an integer from 1 to 9999, not {version!r}")
    given = (encode, decode, encode if equality is None else equality)
    codec_id = f"{name}/{version}"
    with _registering:
        if codec_id in _registered:
            before, codec = _registered[codec_id]
            if before != given:
                raise DefinitionError(f"another codec is registered as {codec_id}: register a new version beside it")
            return codec
        codec = _guarded(codec_id, *given)
        _registered[codec_id] = (given, codec)
        return codec


def own_codec(codec_id: str) -> Codec | None:
    """The codec that is registered under an id, if there is one."""
    found = _registered.get(codec_id)
    return None if found is None else found[1]


def own_codec_ids() -> list[str]:
    """Those registered so far, sorted."""
    return sorted(_registered)


def _guarded(
    codec_id: str,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    equality: Callable[[Any], bytes],
) -> Codec:
    """What the application's functions raise may hold the value: only its type's name goes on."""

    def bytes_of(function: Callable[[Any], bytes], value: object) -> bytes:
        try:
            made = function(value)
        except Exception as error:  # noqa: BLE001  # a codec may refuse by any error
            failed = type(error).__name__
        else:
            if type(made) is bytes:
                return made
            failed = f"it gave {type(made).__name__} and not bytes"
        raise InvalidValueError(f"{codec_id} does not take this {type(value).__name__} ({failed})")

    def value_of(data: bytes) -> Any:
        try:
            return decode(data)
        except Exception as error:  # noqa: BLE001  # as above
            failed = type(error).__name__
        raise ValueError(f"{codec_id} does not read these bytes ({failed})")

    def values_of(parts: Sequence[bytes]) -> list[Any]:
        return [value_of(part) for part in parts]

    return Codec(
        codec_id,
        lambda value: bytes_of(encode, value),
        value_of,
        lambda value: bytes_of(equality, value),
        values_of,
    )
