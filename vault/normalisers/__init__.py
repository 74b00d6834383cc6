"""Normalisers: the normaliser of each frozen id."""

from typing import Final

from vault.errors import DefinitionError
from vault.normalise import Normaliser, casefold, digits, exact, trimmed
from vault.normalisers.email_address import email, email_domain
from vault.normalisers.own import own_normaliser, own_normaliser_ids
from vault.normalisers.parts import last_four, month, year
from vault.normalisers.phone_number import phone_named

__all__ = ["NORMALISER_IDS", "normaliser_named"]

_NORMALISERS: Final = {
    normaliser.id: normaliser
    for normaliser in (exact, trimmed, digits, casefold, email, last_four, email_domain, year, month)
}

NORMALISER_IDS: Final = tuple(_NORMALISERS)


def normaliser_named(normaliser_id: str) -> Normaliser:
    """The normaliser of a frozen id. Raises: DefinitionError, which names those there are."""
    found = _NORMALISERS.get(normaliser_id) or phone_named(normaliser_id) or own_normaliser(normaliser_id)
    if found is None:
        known = ", ".join((*NORMALISER_IDS, *own_normaliser_ids(), "and phone-REGION/VERSION"))
        own = ": call register_normaliser() before a field names it" if "." in normaliser_id.partition("/")[0] else ""
        raise DefinitionError(f"there is no normaliser {normaliser_id!r}{own}; there are {known}")
    return found
