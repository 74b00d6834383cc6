"""Own normalisers: those that an application registers, by a name of its own and a version, before it declares fields.

A name has a dot (`acme.iban`), which no normaliser of NoiseVault's has, so that the two can never be one.
"""

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from vault.errors import DefinitionError, InvalidValueError
from vault.normalise import TEXT_CODECS, Normaliser

__all__ = ["own_normaliser", "own_normaliser_ids", "register_normaliser"]

LONGEST_NAME: Final = 80
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+", re.ASCII)

_Rule = Callable[[Any], str | None]
_Given = tuple[_Rule, tuple[str, ...], bool]
_registered: Final[dict[str, tuple[_Given, Normaliser]]] = {}
_registering: Final = threading.Lock()


def register_normaliser(
    name: str, version: int, rule: _Rule, *, codecs: Sequence[str] = TEXT_CODECS, partial: bool = False
) -> Normaliser:
    """Register a normaliser `name/version` in this process, at import, before a field names it; and give it.

    rule: from a value to the text that its term is made of, the same in every process and for ever; it raises for what
    it does not take. What it does is frozen with the first term stored: for another rule register another version.
    codecs: of which fields it is, by codec id. partial: the rule keeps a part only, None where there is none; it is
    also applied to what find_all() is asked for.
    Raises: DefinitionError for a bad name or version, and for another rule under a name that is taken.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise DefinitionError(
            f"an own normaliser is named in lower case with a dot, as 'acme.iban', in at most {LONGEST_NAME}"
            f" characters; not {name!r}"
        )
    if type(version) is not int or not 1 <= version <= 9999:
        raise DefinitionError(f"the version of a normaliser is an integer from 1 to 9999, not {version!r}")
    if isinstance(codecs, str) or not codecs:
        raise DefinitionError("codecs= is a list of codec ids, as ['str/1']")
    given = (rule, tuple(codecs), partial)
    normaliser_id = f"{name}/{version}"
    with _registering:
        if normaliser_id in _registered:
            before, normaliser = _registered[normaliser_id]
            if before != given:
                raise DefinitionError(
                    f"another normaliser is registered as {normaliser_id}: register a new version beside it"
                )
            return normaliser
        normaliser = _guarded(normaliser_id, *given)
        _registered[normaliser_id] = (given, normaliser)
        return normaliser


def own_normaliser(normaliser_id: str) -> Normaliser | None:
    """The normaliser that is registered under an id, if there is one."""
    found = _registered.get(normaliser_id)
    return None if found is None else found[1]


def own_normaliser_ids() -> list[str]:
    """Those registered so far, sorted."""
    return sorted(_registered)


def _guarded(normaliser_id: str, rule: _Rule, codecs: tuple[str, ...], partial: bool) -> Normaliser:
    """What the application's function raises may hold the value: only its type's name goes on."""

    def applied(value: Any) -> str | None:
        try:
            made = rule(value)
        except Exception as error:  # noqa: BLE001  # a rule may refuse by any error
            failed = type(error).__name__
        else:
            if isinstance(made, str) or (made is None and partial):
                return made
            failed = f"it gave {type(made).__name__} and not str"
        raise InvalidValueError(f"{normaliser_id} does not take this {type(value).__name__} ({failed})")

    def asked(value: Any) -> str:
        made = applied(value)
        if made is None:
            raise InvalidValueError(f"{normaliser_id} finds no part to ask for")
        return made

    return Normaliser(normaliser_id, applied, codecs, asked if partial else None)
