from pathlib import Path

from sqlalchemy import create_engine, text

from tests.vault.cli.conftest import Run


def test_reencrypt_moves_every_row_and_says_so(loaded: Run) -> None:
    loaded("rotate")
    done = loaded("reencrypt")
    assert done.status == 0
    assert done.out.startswith("visit: 4 rows rewritten"), "no progress bar in a file"
    assert "0 rows not under key" in done.out
    assert "0 rows rewritten" in loaded("reencrypt", "visit").out


def test_a_row_that_does_not_open_makes_the_status_not_zero_and_is_named(loaded: Run, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE visit SET diagnosis = zeroblob(40) WHERE person = 2"))
    loaded("rotate")
    done = loaded("reencrypt")
    assert done.status == 3
    assert "3 rows rewritten" in done.out
    assert "[2, 1] diagnosis" in done.out


def test_a_table_that_is_not_in_the_policy_is_named(loaded: Run) -> None:
    assert "nobody" in loaded("reencrypt", "nobody").err
