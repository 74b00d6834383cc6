import csv
from pathlib import Path

from vault.demonstration.people import INVENTED, invented, records, write_csv


def test_the_records_are_the_20190_of_the_experiment() -> None:
    rows = list(records())
    assert len(rows) == 20_190
    assert len({row["person"] for row in rows}) == 5_912
    assert sum(int(row["doctor_visits"]) for row in rows) == 57_752


def test_people_are_made_up_the_same_each_time_and_found_by_their_number() -> None:
    assert invented("125024") == invented("125024")
    everyone = {invented(row["person"])[2] for row in records()}
    assert len(everyone) == 5_912


def test_the_file_holds_the_records_with_the_made_up_columns(tmp_path: Path) -> None:
    write_csv(tmp_path / "people.csv")
    with (tmp_path / "people.csv").open(encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    assert set(INVENTED) < set(first)
    assert first["national_id"].startswith("999-")
