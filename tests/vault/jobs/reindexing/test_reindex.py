"""Filling a slot: what is due, what is left, and what is proved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update

from kms.key_record import Purpose
from tests.vault.jobs.indexed_people import SSN, People, Process, person_table
from tests.vault.jobs.writing_one_by_one import WritesOneByOne
from tests.vault.phases import set_phase
from vault.changeover.phase import Phase
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.proof import prove
from vault.jobs.reindexing.reindex import Reindex
from vault.jobs.reindexing.slot_move import SlotMove
from vault.jobs.tally import Tally
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

B = SlotMove("bidx", "b", ("ssn",))


@pytest.fixture(params=["whole", "partial"])
def people(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[People]:
    people = People.made(database_url, tmp_path, table_of(request.param))
    yield people
    people.close()


def table_of(kind: str) -> Any:
    return person_table(BlindIndex() if kind == "whole" else BlindIndex(last_four), unique=False)


@pytest.fixture
def process(people: People, request: pytest.FixtureRequest) -> Process:
    kind = "partial" if "partial" in request.node.name else "whole"
    process = people.process(table_of(kind))
    for key in range(6):
        process.insert(key, f"ssn 000{key}")
    process.insert(6, None)
    vault = people.vault()
    vault.keyring.lifecycle.rotate(Purpose.INDEX)
    set_phase(vault.key_store, vault.keyring, SSN, Phase.DUAL_ASK_OLD)
    process.field.keyring.beside.end()
    return process


def run(people: People, process: Process) -> Tally:
    return Job(work(process), people.engine, JobSettings()).run()


def work(process: Process) -> Reindex:
    return Reindex(process.table, [B], {"ssn": process.field}, {})


def stored(process: Process) -> dict[int, Any]:
    with process.engine.connect() as connection:
        return {row.id: row.ssn_bidx_b for row in connection.execute(select(process.raw))}


def test_every_value_gets_its_term_and_what_has_it_is_not_due(people: People, process: Process) -> None:
    partial = process.field.definition.indexes[0].normaliser.partial
    if not partial:
        assert prove(people.engine, work(process)).remaining == 6
    done = run(people, process)
    assert (done.rewritten, done.outcome) == (6, JobState.COMPLETE)
    terms = stored(process)
    for key in range(6):
        assert terms[key] == process.field.terms(f"ssn 000{key}")["ssn_bidx_b"]
    assert terms[6] is None
    again = run(people, process)
    assert (again.rewritten, again.outcome) == (0, JobState.COMPLETE)


def test_a_term_of_no_value_or_of_another_key_is_made_right(people: People, process: Process) -> None:
    run(people, process)
    right = stored(process)
    with people.engine.begin() as connection:
        connection.execute(update(process.raw).where(process.raw.c.id == 0).values(ssn_bidx_b=b"\0none" + bytes(32)))
        connection.execute(update(process.raw).where(process.raw.c.id == 6).values(ssn_bidx_b=right[1]))
    left = prove(people.engine, work(process))
    assert {reason for _, reason, _ in left.reasons} == {
        "has a term of another key or generation in slot b",
        "has a term of no value in slot b",
    }
    assert run(people, process).rewritten == 2
    assert stored(process) == right


def test_a_value_that_does_not_open_is_left_and_the_rest_is_done(people: People, process: Process) -> None:
    with people.engine.begin() as connection:
        connection.execute(text("UPDATE person SET ssn = :bytes WHERE id = 3"), {"bytes": bytes(60)})
    done = run(people, process)
    assert (done.rewritten, done.failed, done.outcome) == (5, 1, JobState.INCOMPLETE)
    assert stored(process)[3] is None


@pytest.mark.parametrize("people", ["partial"], indirect=True)
def test_a_part_that_a_value_does_not_have_is_no_term_and_no_row_left(people: People, process: Process) -> None:
    process.update(2, "12")
    done = run(people, process)
    assert (done.rewritten, done.outcome) == (5, JobState.COMPLETE)
    assert stored(process)[2] is None


def test_a_row_that_a_service_changed_meanwhile_stays_as_the_service_wrote_it(people: People, process: Process) -> None:
    reindex = work(process)
    with people.engine.connect() as connection:
        names = [*reindex.table.primary_key.columns, *(reindex.table.c[name] for name in reindex.reads)]
        page = connection.execute(select(*names).order_by(reindex.table.c.id)).mappings().all()
    changes, failed = reindex.renew(page)
    assert len(changes) == 6
    assert not failed
    process.update(0, "ssn 9999")
    with people.engine.begin() as connection:  # by a process that is in the first phase still: slot b stays NULL
        first = {"ssn": process.field.seal("ssn 8888"), "ssn_bidx_a": process.field.terms("ssn 8888")["ssn_bidx_a"]}
        connection.execute(update(process.raw).where(process.raw.c.id == 1).values(first))
    with people.engine.begin() as connection:
        written = WritesOneByOne(reindex).write(connection, changes)
    assert written == [False, False, True, True, True, True]
    assert stored(process)[1] is None
    assert run(people, process).rewritten == 1
    assert stored(process)[1] == process.field.terms("ssn 8888")["ssn_bidx_b"]
    assert process.find("ssn 9999" if not process.field.definition.indexes[0].normaliser.partial else "9999") == [0]
