"""Shared lifetime: what several datasets about the same persons may cost one of them together, for ever."""

from typing import Annotated

from pydantic import AfterValidator, Field

from vault.policy.amount import AttoDelta, NanoEpsilon
from vault.policy.name import Name, refusal
from vault.policy.section import Section

__all__ = ["SharedLifetime"]


def _datasets(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise refusal("a dataset stands twice; leave the second one out")
    return names


class SharedLifetime(Section):
    """datasets: by name, two or more. nano: written `epsilon`; atto_delta: written `delta`, 0 unless it is."""

    datasets: Annotated[tuple[Name, ...], Field(strict=False, min_length=2), AfterValidator(_datasets)]
    nano: Annotated[NanoEpsilon, Field(alias="epsilon")]
    atto_delta: Annotated[AttoDelta, Field(alias="delta")] = 0
