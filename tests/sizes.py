"""Sizes: how much of a slow test to run. The suite runs the normal size, scripts/soak the full one.

Of combinations of several things the suite takes a covering sample: tests/pairwise.py.
"""

import os


def sized(normal: int, full: int) -> int:
    """Give `full` under NOISEVAULT_SOAK=1 (scripts/soak), else `normal`."""
    return full if os.environ.get("NOISEVAULT_SOAK") == "1" else normal
