"""Encryption context: the place of a wrapped key as the map of words that AWS KMS binds, logs and has policies for."""

from typing import Final

from kms.framing import unframed
from kms.provider import wrap_context

__all__ = ["encryption_context"]

# docs/formats.md: a changed word here is a changed stored format.
FORMAT: Final = "1 wrap"


def encryption_context(context: bytes) -> dict[str, str]:
    """The map of a wrap context. Two contexts never give one map, since each word spells its part in full.

    It is no secret: CloudTrail shows it. Raises: ValueError for bytes that wrap_context() did not give.
    """
    try:
        _, keyring_id, purpose, key_id, sequence = unframed(context)
        number = int.from_bytes(sequence, "big")
        known = wrap_context(keyring_id, purpose.decode("ascii"), key_id, number) == context
    except ValueError:  # UnicodeDecodeError is one
        known = False
    if not known:
        raise ValueError("AWS KMS binds the place of a data key and nothing else: give what wrap_context() gives")
    return {
        "noisevault": FORMAT,
        "keyring": keyring_id.hex(),
        "purpose": purpose.decode("ascii"),
        "key_id": key_id.hex(),
        "sequence": str(number),
    }
