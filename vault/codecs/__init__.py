"""Codecs: the codec of each frozen id."""

from vault.codec import Codec
from vault.codecs.floating import FLOAT64
from vault.codecs.integer import INT64
from vault.codecs.octets import BYTES
from vault.codecs.text import STR
from vault.codecs.universal_id import UUID_CODEC
from vault.errors import DefinitionError

__all__ = ["CODEC_IDS", "codec_named"]

CODEC_IDS = (STR.id, BYTES.id, INT64.id, FLOAT64.id, UUID_CODEC.id)


def codec_named(codec_id: str) -> Codec:
    """The codec of a frozen id. Raises: DefinitionError, which names those there are."""
    match codec_id:
        case "str/1":
            return STR
        case "bytes/1":
            return BYTES
        case "int64/1":
            return INT64
        case "float64/1":
            return FLOAT64
        case "uuid/1":
            return UUID_CODEC
        case _:
            raise DefinitionError(f"there is no codec {codec_id!r}; there are {', '.join(CODEC_IDS)}")
