"""E-mail normaliser: which spellings of an address reach one mailbox, by a rule that asks no server.

White space at both ends does not count, nor do case and compatibility spellings (casefold/1), in the local part too,
nor full stops at the end of the domain. Dots and +tags of a local part count, and so does a domain in punycode: whether
those matter is the mail server's own affair. What has no @ is folded alike, and so never equals an address.
"""

from typing import Final

from vault.errors import InvalidValueError
from vault.normalise import WHITE_SPACE, Normaliser, casefold

__all__ = ["email", "email_domain"]


def _email(text: str) -> str:
    folded = str(casefold.apply(text.strip(WHITE_SPACE))).strip(WHITE_SPACE)
    return folded.rstrip("." + WHITE_SPACE) if "@" in folded else folded


def _domain(text: str) -> str | None:
    return _email(text).rpartition("@")[2] or None if "@" in _email(text) else None


def _asked_domain(asked: object) -> str:
    """A domain, or an address at it."""
    if isinstance(asked, str):
        domain = _domain(asked if "@" in str(casefold.apply(asked)) else f"@{asked.strip(WHITE_SPACE)}")
        if domain is not None:
            return domain
    raise InvalidValueError("domain/1 is asked for a domain, or for an address at it")


email: Final = Normaliser("email/1", _email)
"""Case, white space at both ends and a final full stop of the domain do not count."""
email_domain: Final = Normaliser("domain/1", _domain, asked=_asked_domain)
"""Partial: what stands behind the last @. Its terms show which rows share a domain."""
