"""Unknown groups: a column that may be grouped by although its values are not declared, for a small delta.

A group then appears only when so many units are in it that it would have been likely without any one of them.
"""

from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from vault.policy.bounds import exact
from vault.policy.name import refusal
from vault.policy.section import Section

ATTO: Final = 10**18
# Ours: beyond one in a thousand, one person in a thousand may be told outright.
MOST_ATTO_DELTA: Final = 10**15


def _atto(value: Any) -> int:
    scaled = exact(value).scaleb(18)
    if not 1 <= scaled <= MOST_ATTO_DELTA or scaled != int(scaled):
        raise refusal('a delta is from 1e-18 to 0.001 with at most 18 decimals; "1e-6" or less is usual')
    return int(scaled)


class UnknownGroups(Section):
    """atto_delta: the chance, in units of 1e-18, that one question tells that a person is there; written `delta`."""

    atto_delta: Annotated[int, BeforeValidator(_atto), Field(alias="delta")]

    @property
    def delta(self) -> Decimal:
        return Decimal(self.atto_delta).scaleb(-18)
