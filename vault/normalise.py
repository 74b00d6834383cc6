"""Normaliser: what spellings of a text an index takes for one value. The stored value keeps its own spelling.

A normaliser's id is frozen with its rule: another rule is another id. Rules do not depend on the version of
Python: what another Unicode version could read otherwise is refused.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from vault.errors import InvalidValueError
from vault.unicode_14 import unassigned

__all__ = ["TEXT_CODECS", "WHITE_SPACE", "Normaliser", "casefold", "digits", "exact", "trimmed"]

TEXT_CODECS: Final = ("str/1",)

# The code points with Unicode's White_Space property; the list has not changed since Unicode 6.3.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_NOT_ASCII_DIGITS: Final = {code: None for code in range(128) if not 0x30 <= code <= 0x39}


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A frozen id and its rule, from a value of one of codecs (() is every codec) to text.

    The rule raises InvalidValueError, without the value, for what it cannot read.
    asked: of a partial normaliser, which keeps only a part of the value: from what is asked for to that part. Its rule
    gives None for a value without such a part.
    """

    id: str
    apply: Callable[[Any], str | None] = field(compare=False, repr=False)
    codecs: tuple[str, ...] = field(default=TEXT_CODECS, compare=False, repr=False)
    asked: Callable[[Any], str] | None = field(default=None, compare=False, repr=False)

    @property
    def partial(self) -> bool:
        """Whether unequal values may be alike to it by design, so that what it finds is only a part."""
        return self.asked is not None


def _exact(text: str) -> str:
    return text


def _trimmed(text: str) -> str:
    return text.strip(WHITE_SPACE)


def _digits(text: str) -> str:
    kept = text.translate(_NOT_ASCII_DIGITS)
    if not kept.isascii():
        if any(not "0" <= sign <= "9" and sign.isdecimal() for sign in kept):
            raise InvalidValueError("digits/1 reads the digits 0 to 9 only: write other digits with those")
        kept = "".join(sign for sign in kept if "0" <= sign <= "9")
    if text and not kept:
        raise InvalidValueError("digits/1 found no digit, so there is nothing to look up: store NULL instead")
    return kept


def _casefold(text: str) -> str:
    if text.isascii():
        return text.lower()
    if unassigned(text):
        raise InvalidValueError("casefold/1 does not know a character that Unicode 14.0 has not assigned")
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFKC", once.casefold())


exact: Final = Normaliser("exact/1", _exact, codecs=())
"""Every difference counts."""
trimmed: Final = Normaliser("trimmed/1", _trimmed)
"""White space at both ends does not count."""
digits: Final = Normaliser("digits/1", _digits)
"""Only the digits 0 to 9 count, in their order."""
casefold: Final = Normaliser("casefold/1", _casefold)
"""Case and compatibility spellings do not count: toNFKC(toCasefold(toNFKC(toCasefold(toNFD(text))))).

Source: The Unicode Standard 14.0, section 3.13, D146 (compatibility caseless match).
"""
