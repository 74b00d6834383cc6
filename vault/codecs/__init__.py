"""Codecs: the codec of each frozen id."""

from typing import Final

from vault.codec import Codec
from vault.codecs.any_integer import INT
from vault.codecs.day import DATE
from vault.codecs.decimal_number import DECIMAL
from vault.codecs.floating import FLOAT64
from vault.codecs.integer import INT64
from vault.codecs.json_value import JSON_CODEC
from vault.codecs.label import ENUM
from vault.codecs.moment import DATETIME
from vault.codecs.octets import BYTES
from vault.codecs.own import own_codec, own_codec_ids
from vault.codecs.padding import padded, unpadded_id
from vault.codecs.text import STR
from vault.codecs.time_of_day import TIME
from vault.codecs.truth import BOOL
from vault.codecs.universal_id import UUID_CODEC
from vault.errors import DefinitionError

__all__ = ["CODEC_IDS", "codec_named"]

_CODECS: Final = {
    codec.id: codec
    for codec in (
        STR, BYTES, INT64, INT, FLOAT64, DECIMAL, BOOL, DATE, DATETIME, TIME, UUID_CODEC, ENUM, JSON_CODEC,
    )
}  # fmt: skip

CODEC_IDS = tuple(_CODECS)


def codec_named(codec_id: str) -> Codec:
    """The codec of a frozen id, with its padding if the id names one.

    Raises: DefinitionError, which names those there are, own ones that are registered included.
    """
    codec = _CODECS.get(codec_id)
    if codec is not None:
        return codec
    inner_id = unpadded_id(codec_id)
    codec = _CODECS.get(inner_id) or own_codec(inner_id)
    if codec is None:
        known = ", ".join((*CODEC_IDS, *own_codec_ids()))
        own = "" if "." not in inner_id else ": call register_codec() before a field names it"
        raise DefinitionError(f"there is no codec {inner_id!r}{own}; there are {known}")
    return codec if codec_id == inner_id else padded(codec, codec_id.removeprefix(inner_id))
