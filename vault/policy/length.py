"""Length: how long something lasts, as a policy writes it: "35d"."""

from datetime import timedelta
from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from vault.duration import read_duration
from vault.policy.name import refusal

__all__ = ["LONGEST", "Length"]

# Ours: as the longest wait of a retired key.
LONGEST: Final = timedelta(days=3650)


def _length(value: Any) -> Any:
    try:
        length = read_duration(value) if isinstance(value, str) else None
    except ValueError as error:
        reason = str(error)
    else:
        if length is not None and length <= LONGEST:
            return length
        reason = 'expected a duration of at most ten years as text, such as "35d" or "12h"'
    raise refusal(reason)


Length = Annotated[timedelta, BeforeValidator(_length)]
