"""What a policy refuses at a price, whatever is spent: told by preview and plan, as ask would refuse it."""

import json
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run
from tests.vault.projects import write_policy


@pytest.fixture
def alone(run: Run, tmp_path: Path) -> Run:
    """A folder with a policy, and neither key, database nor ledger."""
    write_policy(tmp_path)
    return run


LIMITS = """lifetime_epsilon = "1"
least_epsilon = "0.05"
most_epsilon = "0.6"
budget = { day = "0.5" }
column.spending = { ever = "0.3" }
each_analyst = { month = "0.2" }
"""


@pytest.mark.parametrize(
    ("question", "epsilon", "why"),
    [
        ("count(*)", "0.5", []),
        ("sum(spending)", "0.3", []),
        ("count(*)", "0.04", ["costs epsilon at least 0.05 and at most 0.6, and this one 0.04"]),
        ("count(*)", "0.55", ["it costs epsilon 0.55, and the budget of a day is 0.5"]),
        ("count(*) where spending > 3", "0.4", ["and the budget for ever of column 'spending' is 0.3"]),
        ("sum(spending)", "0.7", ["and this one 0.7", "of column 'spending' is 0.3", "of a day is 0.5"]),
        ("count(*)", "1.1", ["more than the lifetime of dataset 'visits', epsilon 1"]),
    ],
)
def test_what_would_be_refused_whatever_is_spent_is_told(
    alone: Run, tmp_path: Path, question: str, epsilon: str, why: list[str]
) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace('lifetime_epsilon = "1"\n', LIMITS))
    asked = alone("preview", question, "--epsilon", epsilon, "--json")
    refused = json.loads(asked.out)["refused"]
    assert (asked.status, len(refused)) == (0, len(why))
    assert all(part in told for part, told in zip(why, refused, strict=True))
    for words in (("preview", question), ("plan", question)):
        told = alone(*words, "--epsilon", epsilon).out
        assert told.count("would be refused: ") == len(why)
        assert all(one in told for one in refused)


def test_noise_without_an_epsilon_is_held_against_what_it_converts_to(alone: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    delta = 'lifetime_delta = "1e-6"\nmost_epsilon = "0.1"\n'
    path.write_text(path.read_text().replace('lifetime_epsilon = "1"\n', f'lifetime_epsilon = "1"\n{delta}'))
    (told,) = json.loads(alone("preview", "count(*)", "--rho", "0.001", "--json").out)["refused"]
    assert "costs epsilon at most 0.1, and this one 0." in told


def test_what_is_not_told_is_not_refused_and_what_is_told_is(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "noisevault.toml"
    path.write_text(path.read_text().replace('lifetime_epsilon = "1"\n', LIMITS))
    assert loaded("budget", "apply", "--reason", "limits").status == 0
    for question, epsilon in (
        ("count(*)", "0.04"),
        ("count(*)", "0.55"),
        ("sum(spending)", "0.31"),
        ("count()", "0.1"),
    ):
        told = json.loads(loaded("preview", question, "--epsilon", epsilon, "--json").out)["refused"]
        assert (loaded("ask", question, "--epsilon", epsilon).status == 1) == bool(told)
