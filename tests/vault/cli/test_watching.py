import json

import pytest
import typer

from tests.vault.cli.conftest import Run
from vault.cli.watching import parse_share


def told(run: Run, *words: str) -> dict[str, dict[str, object]]:
    """By the code."""
    ended = run("audit", "watch", "--json", *words)
    assert (ended.status, ended.err) == (0, "")
    return {said["code"]: said for said in map(json.loads, ended.out.splitlines())}


def test_a_log_with_nothing_to_look_at_is_told_as_such(loaded: Run) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.1", "--who", "ann")
    ended = loaded("audit", "watch")
    assert (ended.status, ended.out, ended.err) == (0, "nothing to look at in the last 91d\n", "")
    assert told(loaded) == {}


def test_what_was_asked_is_looked_at_by_the_thresholds(loaded: Run) -> None:
    for number, who in enumerate(["ann", "bob", "ann", "bob"]):
        question = f"count(*) where person != {number} and year = 1"
        loaded("ask", question, "--epsilon", "0.005", "--who", who)
    loaded("ask", "count(*) where diagnosis = 'asthma'", "--epsilon", "0.1", "--who", "eve")
    found = told(loaded)
    assert list(found) == ["differ-by-few", "singled-out"]
    assert found["singled-out"]["principals"] == ["eve"]
    assert found["singled-out"]["questions"] == ["count(*) where diagnosis = 'asthma'"]
    assert found["differ-by-few"]["principals"] == ["ann", "bob"]
    assert len(found["differ-by-few"]["entries"]) == 4  # type: ignore[arg-type]
    assert "near-duplicates" in told(loaded, "--near-count", "4")
    tiny = told(loaded, "--tiny-count", "2", "--tiny", "0.005", "--tiny-within", "1h")
    assert tiny["tiny-charges"]["count"] == 2
    assert list(told(loaded, "--single", "0")) == []
    assert "tiny-charges" not in told(loaded, "--tiny-count", "2", "--tiny", "0.004")


def test_a_person_is_shown_the_first_texts_and_numbers(loaded: Run) -> None:
    for number in range(7):
        loaded("ask", f"count(*) where person != {number}", "--epsilon", "0.01", "--who", "ann")
    out = loaded("audit", "watch", "--single", "0").out.splitlines()
    assert out[0].startswith("near-duplicates: ann asked 7 questions of dataset visits that differ in the condition on")
    assert out[1].endswith(", and 2 more")
    assert [line.strip() for line in out[2:]] == [*(f"count(*) where person != {n}" for n in range(5)), "and 2 more"]


def test_no_question_writes_to_the_terminal_of_those_who_watch(loaded: Run) -> None:
    asked = loaded("ask", "count(*) where diagnosis = '\x1b[31m\x07\u202ered'", "--epsilon", "0.1", "--who", "eve")
    watched = loaded("audit", "watch")
    for ended in (asked, watched):
        assert r"diagnosis = '\x1b[31m\x07\u202ered'" in " ".join(ended.out.split())
        assert ended.out.replace("\n", "").isprintable()


def test_what_is_longer_ago_is_not_looked_at(loaded: Run) -> None:
    loaded("ask", "count(*) where person = 1", "--epsilon", "0.1")
    assert list(told(loaded, "--since", "1h")) == ["singled-out"]
    assert told(loaded, "--since", "0s") == {}


@pytest.mark.parametrize(
    "words", [("--single", "2"), ("--tiny", "-1"), ("--near-count", "1"), ("--since", "soon"), ("--tiny-within", "0s")]
)
def test_an_option_that_is_none_is_refused(run: Run, words: tuple[str, str]) -> None:
    assert run("audit", "watch", *words).status == 2


@pytest.mark.parametrize("text", ["", "1.1", "-0.1", "nan", "a half", "1/2"])
def test_a_share_is_a_number_from_0_to_1(text: str) -> None:
    assert (parse_share("0"), parse_share("1"), parse_share("0.25")) == (0, 1, 0.25)
    with pytest.raises(typer.BadParameter, match="from 0 to 1"):
        parse_share(text)
