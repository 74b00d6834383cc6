from pathlib import Path

from tests.vault.jobs.indexed_people import People, person_table
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.proof import prove
from vault.jobs.reindexing.empty_slots import EmptySlots
from vault.jobs.reindexing.slot_move import SlotMove
from vault.terms.term import BlindIndex


def test_a_slot_that_is_left_loses_its_terms_and_the_values_stay(database_url: str, tmp_path: Path) -> None:
    table = person_table(BlindIndex())
    people = People.made(database_url, tmp_path, table)
    process = people.process(table)
    for key in range(5):
        process.insert(key, f"ssn {key}")
    undeclared = person_table(unique=False)
    work = EmptySlots(undeclared, [SlotMove("bidx", "a", ("ssn",))])
    assert prove(people.engine, work).remaining == 5
    done = Job(work, people.engine).run()
    assert (done.rewritten, done.outcome) == (5, JobState.COMPLETE)
    assert people.nulls("ssn_bidx_a") == 5
    assert Job(work, people.engine).run().rewritten == 0
    people.close()
