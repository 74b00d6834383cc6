from sqlalchemy import create_engine, insert, select

from vault.changeover.phase import Subject
from vault.changeover.tables import changeover_table, is_of, metadata


def test_a_row_is_of_its_subject_and_of_no_other() -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    row = {"keyring_id": bytes(16), "table_name": "t", "column_name": "c", "index_name": "i"}
    rest = {"old_place": "a", "new_place": "b", "phase": 1, "came_from": 1, "since": "2026-01-01T00:00:00.000000+00:00"}
    with engine.begin() as connection:
        connection.execute(insert(changeover_table).values(row | rest))
        for subject, found in [(("t", "c", "i"), 1), (("t", "c", ""), 0), (("t", "", "i"), 0), (("", "c", "i"), 0)]:
            statement = select(changeover_table).where(is_of(changeover_table, Subject(*subject)))
            assert len(connection.execute(statement).all()) == found
