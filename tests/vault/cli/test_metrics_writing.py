"""metrics: the file of the command, as Prometheus' own parser reads it."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.vault.cli.conftest import Run


def names(path: Path) -> set[str]:
    return {family.name for family in text_string_to_metric_families(path.read_text(encoding="utf-8"))}


def test_keys_are_told_and_their_rows_unless_no_table_is_to_be_read(loaded: Run, tmp_path: Path) -> None:
    assert loaded("metrics", "a.prom", "--no-count").status == 0
    assert {"noisevault_key_seals", "noisevault_key_state"} <= names(tmp_path / "a.prom")
    assert "noisevault_key_rows" not in names(tmp_path / "a.prom")
    ended = loaded("metrics", "a.prom")
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert "noisevault_key_rows" in names(tmp_path / "a.prom")


def test_a_folder_that_is_not_there_is_refused_in_a_line(loaded: Run) -> None:
    ended = loaded("metrics", "nowhere/a.prom")
    assert (ended.status, ended.err.count("\n")) == (1, 1)
