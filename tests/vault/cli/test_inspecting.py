import json
from pathlib import Path

from tests.vault.cli.conftest import Run


def test_leakage_is_measured_on_the_real_columns_and_shows_no_value(loaded: Run) -> None:
    lines = [json.loads(line) for line in loaded("inspect", "leakage", "--json").out.splitlines()]
    found = {(line["column"], line["normaliser"]): line for line in lines}
    ids = found["visit.national_id", "digits/1"]
    assert (ids["rows"], ids["distinct"], ids["most_common_share"], ids["min_entropy_bits"]) == (4, 3, 0.5, 1.0)
    # two rows meet two others each, two rows meet three: 2.5 a row, under 16 terms
    assert ids["false_positives"]["4"] == 2.5 / 16
    diagnosis = found["visit.diagnosis", "exact/1"]
    assert (diagnosis["rows"], diagnosis["without_term"]) == (3, 1)
    assert diagnosis["advice"].startswith("3 values are too few to tell")
    told = loaded("inspect", "leakage", "diagnosis").out
    assert "3 rows with a term, 1 without; 3 distinct values" in told
    assert "gout" not in told
    assert "national_id" not in told


def test_what_cannot_be_inspected_is_one_line(loaded: Run) -> None:
    for words in (("site",), ("nobody",), ("diagnosis", "--table", "nobody")):
        refused = loaded("inspect", "leakage", *words)
        assert (refused.status, refused.err.count("\n")) == (1, 1)


def test_find_asks_a_truncated_and_a_partial_index(run: Run, tmp_path: Path) -> None:
    from tests.vault.projects import write_policy

    policy = write_policy(tmp_path)
    text = policy.read_text(encoding="utf-8")
    before = 'index = { normalise = "digits" }'
    assert before in text
    narrow = 'index = [{ normalise = "digits", bits = 4 }, { name = "last4", normalise = "last_four" }]'
    policy.write_text(text.replace(before, narrow), encoding="utf-8")
    rows = "".join(f'{n},1,1,{n:06},"",1\n' for n in range(100, 140))
    (tmp_path / "visits.csv").write_text(f"person,year,site,national_id,diagnosis,spending\n{rows}", encoding="utf-8")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    for words in (("000117",), ("0117", "--index", "last4"), ("000117", "--index", "bidx")):
        found = run("find", "national_id", *words, "--json").out.splitlines()
        assert [json.loads(line)["person"] for line in found] == [117]
    refused = run("find", "national_id", "000117", "--index", "last5")
    assert (refused.status, refused.err) == (1, "refused: national_id has no index 'last5'; it has: bidx, last4\n")
