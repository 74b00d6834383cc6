"""Sample size: how many rows of a table are looked at, where not all are: so many, or a share of them."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

__all__ = ["Sample"]

WRITTEN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sample:
    """rows: so many, all equally likely; or share: each row with this probability, above 0 and at most 1."""

    rows: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Sample":
        """Of "1000" or "2.5%". Raises: ValueError."""
        found = WRITTEN.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f"a sample is a number of rows, such as 1000, or a share of them, such as 1%, not {text!r}"
            )
        number, percent = Decimal(found[1]), bool(found[2])
        if percent and 0 < number <= 100:
            return cls(share=float(number / 100))
        if not percent and number >= 1 and number == int(number):
            return cls(rows=int(number))
        raise ValueError(f"a sample is at least 1 row, or more than 0% and at most 100%, not {text!r}")
