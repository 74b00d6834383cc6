"""Changeover: content that is kept in two places, an old and a new one, moves from one to the other online.

The places are the slots a and b of an index, or the plaintext column and the sealed column of a field that is migrated.
"""

from vault.changeover.phase import Changeover, Phase, Subject
from vault.changeover.steps import Evidence, Next

__all__ = ["Changeover", "Evidence", "Next", "Phase", "Subject"]
