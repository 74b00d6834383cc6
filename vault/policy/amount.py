"""Amount: an epsilon or a delta as a policy writes it, kept as an exact integer."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from dp.delta import parse_delta
from dp.epsilon import parse_epsilon
from dp.errors import DpError
from dp.ledger.limits.budget import MAX_LIFETIME_NANO
from dp.nano import show
from vault.policy.name import refusal

__all__ = ["AttoDelta", "NanoCap", "NanoEpsilon"]

_TOO_MUCH: Final = f"it is above {show(MAX_LIFETIME_NANO)}, which protects nobody; write less"


def _nano(value: Any) -> int:
    nano = _parsed(parse_epsilon, value)
    if nano > MAX_LIFETIME_NANO:
        raise refusal(_TOO_MUCH)
    return nano


def _cap(value: Any) -> int:
    """0 is one: nothing may be spent."""
    return 0 if type(value) in (int, str) and str(value) == "0" else _nano(value)


def _atto(value: Any) -> int:
    return _parsed(parse_delta, value)


def _parsed(parse: Callable[[Any], int], value: Any) -> int:
    try:
        return parse(value)
    except DpError as error:
        reason = str(error)
    raise refusal(reason)


# An epsilon above 0, in units of 1e-9; a budget, which may be 0; a delta, in units of 1e-18.
NanoEpsilon = Annotated[int, BeforeValidator(_nano)]
NanoCap = Annotated[int, BeforeValidator(_cap)]
AttoDelta = Annotated[int, BeforeValidator(_atto)]
