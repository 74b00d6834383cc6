import json

import pytest

from tests.vault.cli.conftest import Run
from vault.cli.looking import in_json, in_words


def test_find_goes_by_the_index_and_its_normaliser(loaded: Run) -> None:
    found = [json.loads(line) for line in loaded("find", "national_id", "1 1 1", "--json").out.splitlines()]
    assert [(row["person"], row["year"], row["spending"]) for row in found] == [(1, 1, 10.5), (1, 2, 20.0)]


def test_find_on_a_plain_column_and_with_nothing_found(loaded: Run) -> None:
    assert loaded("find", "person", "2").status == 0
    none = loaded("find", "national_id", "99")
    assert (none.status, none.err) == (1, "no row of visit has that national_id\n")


def test_find_on_a_sealed_column_without_index_says_what_to_do(loaded: Run) -> None:
    refused = loaded("find", "diagnosis", "gout")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "index = {" in refused.err
    assert "gout" not in refused.err


@pytest.mark.parametrize("words", [("nobody", "1"), ("person", "one"), ("person", "1", "--table", "nobody")])
def test_what_cannot_be_found_is_one_line(loaded: Run, words: tuple[str, ...]) -> None:
    refused = loaded("find", *words)
    assert (refused.status, refused.err.count("\n")) == (1, 1)


def test_show_raw_is_what_a_thief_sees(loaded: Run) -> None:
    raw = loaded("show", "--raw", "--json", "--limit", "1").out
    row = json.loads(raw)
    assert row["diagnosis"].startswith("0100")
    assert row["person"] == 1
    assert "asthma" not in raw
    assert "asthma" in loaded("show", "--limit", "1").out


def test_a_long_value_is_folded_and_not_cut_off(loaded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = loaded("show", "--raw", "--limit", "1").out
    assert shown.count("…") == shown.count("bytes)") > 0


def test_values_are_shown_whatever_they_are() -> None:
    assert in_json(b"\x01") == "01"
    assert in_json(None) is None
    assert in_words(bytes(100)).endswith("… (100 bytes)")
    assert in_words(None) == ""
