from sqlalchemy import create_engine, update

from tests.vault.jobs.plain_work import NOTES, Capitals, bodies, write_notes
from vault.jobs.change import Change
from vault.jobs.writing_one_by_one import WritesOneByOne


def test_only_what_is_still_as_it_was_read_is_written_and_each_is_told(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a", "b", "c"])
    writer = WritesOneByOne(Capitals())
    changes = [Change((at,), (old,), (old.upper(),)) for at, old in enumerate("abcd")]
    with engine.begin() as connection:
        connection.execute(update(NOTES).where(NOTES.c.id == 1).values(body="service"))
    with engine.begin() as connection:
        assert writer.write(connection, changes) == [True, False, True, False]
        assert writer.write(connection, []) == []
    assert bodies(engine) == ["A", "service", "C"]
    with engine.begin() as connection:
        assert writer.write(connection, [Change((0,), ("A",), ("z",))]) == [True]
