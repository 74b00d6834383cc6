"""A missing table is told from other failures on each database."""

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from kms.key_database import DRIVERS
from kms.missing_table import misses_table


@pytest.mark.parametrize(
    ("statement", "missing"), [("SELECT 1 FROM nowhere", True), ("SELECT nothing", False), ("SELEC 1", False)]
)
def test_only_a_missing_table_is_one(database_url: str, statement: str, missing: bool) -> None:
    engine = create_engine(database_url)
    assert engine.url.drivername in DRIVERS
    with engine.connect() as connection, pytest.raises(DBAPIError) as raised:
        connection.execute(text(statement))
    engine.dispose()
    assert misses_table(raised.value) is missing
