"""Phone normaliser: spellings of one telephone number, as the library phonenumbers reads them.

Its id names the region whose national spellings are read, and the version of the library, whose metadata is what the
rule follows: phone-gb/9.0.43. Another version may read a number otherwise, and then its term would not be found; so a
field whose definition names another version than is installed says so instead of writing or asking.
"""

import re
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from vault.errors import DefinitionError
from vault.normalise import WHITE_SPACE, Normaliser

__all__ = ["phone", "phone_named"]

PACKAGE: Final = "phonenumbers"
ANYWHERE: Final = "ZZ"  # libphonenumber's region of none: only numbers with + and a country code are read
_ID: Final = re.compile(r"phone-([a-z]{2})/([0-9]+(?:\.[0-9]+){1,3})", re.ASCII)


def phone(region: str | None = None, *, metadata: str | None = None) -> Normaliser:
    """Spellings of one number, national ones of region ("GB") included; without it only those with + and country code.

    metadata: the version of phonenumbers that the field's terms were made by; the installed one unless given.
    Numbers become +, country code and number, with ;ext= and the extension if there is one. A text that is no possible
    number becomes text: and itself, so that it matches itself only.
    Raises: DefinitionError for an unknown region, and unless that version is installed (noisevault[phone]).
    """
    metadata = metadata or _installed()
    if metadata is None:
        raise DefinitionError("phone() needs the library phonenumbers: pip install 'noisevault[phone]'")
    library = _library(metadata)
    region = ANYWHERE if region is None else region
    if region != ANYWHERE and region not in library.SUPPORTED_REGIONS:
        raise DefinitionError(f"there is no region {region!r}: name it by two capital letters, as 'GB'")
    return _of(region, metadata)


def phone_named(normaliser_id: str) -> Normaliser | None:
    """The phone normaliser of an id, whether its version is installed or not; None for another id."""
    found = _ID.fullmatch(normaliser_id)
    return None if found is None else _of(found[1].upper(), found[2])


def _of(region: str, metadata: str) -> Normaliser:
    return Normaliser(f"phone-{region.lower()}/{metadata}", partial(_number, region, metadata))


def _number(region: str, metadata: str, text: str) -> str:
    library = _library(metadata)
    try:
        number = library.parse(text, None if region == ANYWHERE else region)
    except library.NumberParseException:
        number = None
    if number is None or library.is_possible_number_with_reason(number) != library.ValidationResult.IS_POSSIBLE:
        return "text:" + text.strip(WHITE_SPACE)
    written: str = library.format_number(number, library.PhoneNumberFormat.E164)
    return f"{written};ext={number.extension}" if number.extension else written


def _installed() -> str | None:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


_libraries: Final[dict[str, Any]] = {}


def _library(metadata: str) -> Any:
    found = _libraries.get(metadata)
    if found is None:
        installed = _installed()
        if installed != metadata:
            there = "is not installed" if installed is None else f"is installed as {installed}"
            raise DefinitionError(
                f"the index needs phonenumbers {metadata}, which {there}: pip install '{PACKAGE}=={metadata}'"
            )
        found = _libraries[metadata] = import_module(PACKAGE)
    return found
