"""Sizes: how much of a slow test to run. The suite runs the normal size, scripts/soak the full one.

Of combinations of several things the suite takes a covering sample: tests/pairwise.py.
"""

import os
from typing import Final


def sized(normal: int, full: int) -> int:
    """Give `full` under NOISEVAULT_SOAK=1 (scripts/soak), else `normal`."""
    return full if os.environ.get("NOISEVAULT_SOAK") == "1" else normal


# Of Hypothesis, where a test does not say how many. 100 is its own number.
EXAMPLES: Final = sized(25, 100)
