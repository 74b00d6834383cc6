"""The commands by name: all can be made, each with the code it needs and no more."""

import subprocess
import sys

import pytest

from tests.vault.cli.conftest import Run
from vault.cli.commands import PLACES, Commands


@pytest.mark.parametrize("name", PLACES)
def test_each_is_made_with_its_name_and_says_what_it_does(name: str) -> None:
    command = Commands()[name]
    assert command.name == name
    assert command.help.partition("\n\n")[0] == PLACES[name].summary


def test_the_help_shows_each_with_its_summary_in_order(run: Run) -> None:
    told = run("--help").out
    rows = [line.split()[1:2] for line in told.splitlines()]
    assert [word for row in rows for word in row if word in PLACES] == list(PLACES)
    assert all(place.summary in told for place in PLACES.values())


@pytest.mark.parametrize("name", PLACES)
def test_no_help_has_square_brackets_which_would_be_taken_for_markup(name: str) -> None:
    command = Commands()[name]
    for one in (command, *getattr(command, "commands", {}).values()):
        for told in (one.help, *(parameter.help for parameter in one.params)):
            assert "[" not in (told or "")


def test_a_command_does_not_wait_for_the_code_of_the_others() -> None:
    look = "import sys; from vault.cli.commands import Commands; Commands()['rotate']; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert "vault.cli.rotating" in loaded
    assert not {"vault.cli.asking", "vault.cli.maintaining", "vault.jobs.reencrypt", "hvac"} & set(loaded)
