"""Text that is compared character by character, also where a database is lax about it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Engine, MetaData, Table, create_engine, insert, select, text
from sqlalchemy.exc import IntegrityError

from kms.exact_text import exact_long_text, exact_text

TEXTS = ["a", "A", "ä", "a ", " a", "", " ", "😀", "😁", "ss", "ß", "e\u0301", "é"]
TABLE = Table("texts", MetaData(), Column("short", exact_text(20), primary_key=True), Column("long", exact_long_text()))


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """On MariaDB the database is of Latin letters, and ignores case and blanks at the end."""
    engine = create_engine(database_url)
    if engine.dialect.name == "mysql":
        with engine.connect() as connection:
            connection.execute(text("ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_swedish_ci"))
    TABLE.create(engine)
    yield engine
    engine.dispose()


def test_two_texts_are_equal_only_if_they_are_the_same(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(insert(TABLE), [{"short": one, "long": one * 3} for one in TEXTS])
        for one in TEXTS:
            for column, wanted in ((TABLE.c.short, one), (TABLE.c.long, one * 3)):
                assert connection.scalars(select(TABLE.c.short).where(column == wanted)).all() == [one]
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(insert(TABLE), {"short": "a "})
