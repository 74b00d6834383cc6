"""The kinds of finding are words that an operator reads and a program compares."""

from vault.restoration.finding import FindingKind


def test_each_kind_has_words_of_its_own() -> None:
    assert len({kind.value for kind in FindingKind}) == len(FindingKind)
    assert all(kind.value.islower() for kind in FindingKind)
