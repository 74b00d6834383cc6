import sys
import unicodedata

import pytest

from vault.unicode_14 import unassigned


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="this Python has another Unicode version")
def test_the_table_is_unicode_14s() -> None:
    wrong = [c for c in range(sys.maxunicode + 1) if unassigned(chr(c)) != (unicodedata.category(chr(c)) == "Cn")]
    assert wrong == []


def test_one_unassigned_character_is_enough() -> None:
    assert unassigned("Ann\u0378")
    assert not unassigned("Ann\u00eb\U0001f600")
    assert not unassigned("")
