"""Unknown groups: a column that may be grouped by although its values are not declared, for a small delta.

A group then appears only when so many units are in it that it would have been likely without any one of them.
"""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from dp.delta import parse_delta
from dp.errors import DpError
from vault.policy.name import refusal
from vault.policy.section import Section

# Ours: beyond one in a thousand, one person in a thousand may be told outright.
MOST_ATTO_DELTA: Final = 10**15


def _atto(value: Any) -> int:
    try:
        atto = parse_delta(value)
    except DpError as error:
        reason = str(error)
    else:
        if 0 < atto <= MOST_ATTO_DELTA:
            return atto
        reason = 'delta: it must be above 0 and at most 0.001; "1e-6" or less is usual'
    raise refusal(reason)


class UnknownGroups(Section):
    """atto_delta: the chance, in units of 1e-18, that one question tells that a person is there; written `delta`."""

    atto_delta: Annotated[int, BeforeValidator(_atto), Field(alias="delta")]
