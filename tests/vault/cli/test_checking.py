from pathlib import Path

from sqlalchemy import create_engine, text

from tests.vault.cli.conftest import Run


def sql(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))


def test_a_whole_project_passes(loaded: Run) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.5")
    checked = loaded("check")
    assert (checked.status, checked.err) == (0, "")


def test_swapped_rows_are_found(loaded: Run, tmp_path: Path) -> None:
    sql(
        tmp_path / "application.db",
        "UPDATE visit SET spending = (SELECT v.spending FROM visit v WHERE v.person = 3) WHERE person = 2",
    )
    checked = loaded("check")
    assert checked.status == 1
    assert "visit.spending: 1 values do not open" in checked.out


def test_a_budget_that_was_set_back_is_found(loaded: Run, tmp_path: Path) -> None:
    loaded("ask", "count(*)", "--epsilon", "0.5")
    sql(tmp_path / "ledger.db", "UPDATE noisevault_budget SET spent_nano_epsilon = 0")
    assert loaded("check").status == 1


def test_a_dataset_that_does_not_bind_its_unit_is_refused_unless_accepted_in_words(loaded: Run, tmp_path: Path) -> None:
    policy = tmp_path / "noisevault.toml"
    unbound = policy.read_text().replace(
        'year = { type = "int" }', 'year = { type = "int" }\nloose = { type = "int", sealed = true }'
    )
    policy.write_text(unbound)
    sql(tmp_path / "application.db", "ALTER TABLE visit ADD COLUMN loose BLOB")
    checked = loaded("check")
    assert checked.status == 1
    assert "visit.loose does not bind the unit" in checked.out
    policy.write_text(unbound + '\naccept_unbound = "the administrators are trusted"\n')
    assert loaded("check").status == 0
