"""Stored types: what Sealed can hold beside SQLAlchemy's own types. No database sees them, only the codec's name."""

from typing import Any

from sqlalchemy.types import TypeEngine

from vault.codec import Codec
from vault.codecs import codec_named
from vault.errors import DefinitionError

__all__ = ["AnyInteger", "Coded"]


class Coded(TypeEngine[Any]):
    """Sealed(Coded("acme.iban/1")): values of a codec by its id, as of one that was registered, or by the codec itself.

    Raises: DefinitionError for a codec that is not known, and for one with padding, which Sealed adds.
    """

    def __init__(self, codec: str | Codec) -> None:
        self.codec = codec.id if isinstance(codec, Codec) else codec
        if not isinstance(self.codec, str) or "+" in self.codec:
            raise DefinitionError("Coded() takes a codec or its id; give padding as Sealed(..., pad=) or width=")
        codec_named(self.codec)

    def __repr__(self) -> str:
        return f"Coded({self.codec!r})"

    @property
    def python_type(self) -> type[Any]:
        return object


class AnyInteger(Coded):
    """Sealed(AnyInteger): an int of any size. (BigInteger and Integer hold 64 bits.)"""

    def __init__(self) -> None:
        super().__init__("int/1")

    def __repr__(self) -> str:
        return "AnyInteger()"

    @property
    def python_type(self) -> type[int]:
        return int
