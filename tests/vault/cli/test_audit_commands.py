"""The group of the commands on the audit log, and the words that a person types."""

import pytest

from tests.vault.cli.conftest import Run
from vault.cli.commands import Commands


def test_all_of_them_are_there() -> None:
    assert set(Commands()["audit"].commands) == {"verify", "export", "show", "head", "recover", "watch"}


@pytest.mark.parametrize("words", [["audit"], ["audit-head", "head.json"]])
def test_without_a_command_there_is_help_and_the_former_name_is_none(run: Run, words: list[str]) -> None:
    assert run(*words).status == 2
