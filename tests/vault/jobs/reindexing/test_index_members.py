from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, String, Table

from tests.vault.jobs.indexed_people import People, person_table
from vault.changeover.phase import Subject
from vault.jobs.reindexing.index_members import members_of, recorded_parts
from vault.mapping import CompoundIndex, Sealed
from vault.mapping.definitions import definition_of
from vault.terms.term import BlindIndex

WHO = BlindIndex(name="who", scope="person")


def test_the_tables_and_columns_in_which_an_index_changes(tmp_path: Path) -> None:
    first, second = (
        Table(
            name,
            MetaData(),
            Column("id", Integer, primary_key=True),
            Column("ssn", Sealed(String(40), index=[BlindIndex(), WHO], unique=True)),
            Column("name", Sealed(String(40))),
            CompoundIndex("both", "ssn", "name", unique=True),
        )
        for name in ("person", "guest")
    )
    people = People.made(f"sqlite:///{tmp_path / 'application.db'}", tmp_path, person_table(BlindIndex()))
    vault = people.vault()
    own, *rest = members_of(Subject("person", "ssn", "bidx"), [first, second], vault)
    assert not rest
    assert (own.part, own.columns, own.unique) == (("person", "ssn"), ("ssn",), True)
    assert own.move("b").term_column == "ssn_bidx_b"
    shared = members_of(Subject("", "", "person"), [first, second], vault)
    assert [(one.part, one.index, one.unique) for one in shared] == [
        (("person", "ssn"), "who", False),
        (("guest", "ssn"), "who", False),
    ]
    (both,) = members_of(Subject("guest", "", "both"), [first, second], vault)
    assert (both.part, both.columns, both.unique) == (("guest", ""), ("ssn", "name"), True)
    assert both.serving() is vault.compound(both.serving().definition)  # type: ignore[arg-type]
    for table in (first, second):
        vault.field(definition_of(table.c.ssn))
    assert recorded_parts(vault, Subject("", "", "person")) == [("guest", "ssn"), ("person", "ssn")]
    assert recorded_parts(vault, Subject("person", "ssn", "bidx")) == [("person", "ssn")]
    people.close()
