from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from dp.ledger.unreadable import unreadable


def failure(statement: str) -> DBAPIError:
    engine = create_engine("sqlite://")
    try:
        with engine.connect() as connection:
            connection.execute(text(statement)).all()
    except DBAPIError as error:
        return error
    finally:
        engine.dispose()
    raise AssertionError("it did not fail")


def test_bytes_that_are_no_text_are_told_by_their_column_and_not_quoted() -> None:
    told = str(unreadable(failure("SELECT CAST(x'736563726574ff' AS TEXT) AS mac")))
    assert "column 'mac' " in told
    assert "secret" not in told


def test_every_other_error_is_another() -> None:
    assert unreadable(failure("SELECT 1 FROM nowhere")) is None
