"""Shared parameter: a bindparam() name that one statement uses for a sealed column and for something else besides.

SQLAlchemy sends one value for a name, so the other place would be compared with a term that is not its own.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.sql.elements import BindParameter

from vault.errors import SealedColumnError
from vault.mapping.ask_by_mode import AskedPlaintext
from vault.mapping.term_type import AskedTerm

__all__ = ["refuse_shared_parameters"]


def refuse_shared_parameters(names: "Mapping[BindParameter[Any], str]") -> None:
    """names: those of a compiled statement's parameters. Raises: SealedColumnError."""
    asked = {
        name: parameter.type
        for parameter, name in names.items()
        if isinstance(parameter.type, AskedTerm | AskedPlaintext)
    }
    for parameter, name in names.items() if asked else ():
        kind = asked.get(name)
        if isinstance(kind, AskedTerm | AskedPlaintext) and parameter.type is not kind:
            raise SealedColumnError(
                f"the parameter {name} is asked of {kind.sealed.label} and used elsewhere too: a term is of one column"
                " only, so give each place a bindparam() of its own name"
            )
