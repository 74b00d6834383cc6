"""Normaliser: what spellings of a text an index takes for one value. The stored value keeps its own spelling.

A normaliser's id is frozen with its rule: another rule is another id. Rules do not depend on the version of
Python: what another Unicode version could read otherwise is refused.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from vault.errors import DefinitionError, InvalidValueError
from vault.unicode_14 import unassigned

__all__ = ["NORMALISER_IDS", "Normaliser", "casefold", "digits", "exact", "normaliser_named", "trimmed"]

# The code points with Unicode's White_Space property; the list has not changed since Unicode 6.3.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_NOT_ASCII_DIGITS: Final = {code: None for code in range(128) if not 0x30 <= code <= 0x39}


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A frozen id and its rule, text to text. of_text: whether it is for text only (exact is for every codec).

    The rule raises InvalidValueError, without the text, for what it cannot read.
    """

    id: str
    apply: Callable[[str], str] = field(compare=False, repr=False)
    of_text: bool = field(default=True, compare=False, repr=False)


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


exact: Final = Normaliser("exact/1", _exact, of_text=False)
"""Every difference counts."""
trimmed: Final = Normaliser("trimmed/1", _trimmed)
"""White space at both ends does not count."""
digits: Final = Normaliser("digits/1", _digits)
"""Only the digits 0 to 9 count, in their order."""
casefold: Final = Normaliser("casefold/1", _casefold)
"""Case and compatibility spellings do not count: toNFKC(toCasefold(toNFKC(toCasefold(toNFD(text))))).

Source: The Unicode Standard 14.0, section 3.13, D146 (compatibility caseless match).
"""

NORMALISER_IDS: Final = (exact.id, trimmed.id, digits.id, casefold.id)


def normaliser_named(normaliser_id: str) -> Normaliser:
    """The normaliser of a frozen id. Raises: DefinitionError, which names those there are."""
    for normaliser in (exact, trimmed, digits, casefold):
        if normaliser.id == normaliser_id:
            return normaliser
    raise DefinitionError(f"there is no normaliser {normaliser_id!r}; there are {', '.join(NORMALISER_IDS)}")
