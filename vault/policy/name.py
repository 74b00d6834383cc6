"""Name: what a table, a column, a dataset or a keyring may be called in a policy."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

# PostgreSQL cuts identifiers at 63 bytes; a field's term columns are its name and 7 more ("_bidx_a").
POSTGRESQL_IDENTIFIER_BYTES: Final = 63
LONGEST_NAME: Final = POSTGRESQL_IDENTIFIER_BYTES - len("_bidx_a")
RESERVED_PREFIX: Final = "noisevault_"
_SPELLING: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def refusal(reason: str) -> PydanticCustomError:
    """An error of ours for pydantic to place: the reason is shown as it is, without the input."""
    return PydanticCustomError("policy", "{reason}", {"reason": reason})


def _checked(name: str) -> str:
    if not _SPELLING.fullmatch(name) or len(name) > LONGEST_NAME:
        raise refusal(f"a name is letters, digits and _ (ASCII), starts with no digit and has at most {LONGEST_NAME}")
    if name.lower().startswith(RESERVED_PREFIX):
        raise refusal(f"names that start with {RESERVED_PREFIX} are kept for the vault's own tables; choose another")
    return name


Name = Annotated[str, AfterValidator(_checked)]
