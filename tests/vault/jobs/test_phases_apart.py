"""Two processes one phase apart, which write and ask at the same moment: each finds what the other wrote, once."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from tests.vault.jobs.indexed_people import SSN, People, Process, person_table
from tests.vault.phases import set_phase
from vault.changeover.phase import Phase
from vault.index.slot_storage import index_slot_column
from vault.terms.term import BlindIndex

TABLE = person_table(BlindIndex())
STEPS = [(1, 2), (2, 3), (3, 4), (4, 3), (3, 2), (2, 1)]


@pytest.fixture
def people(database_url: str, tmp_path: Path) -> Iterator[People]:
    people = People.made(database_url, tmp_path, TABLE)
    people.lease = 180
    index_slot_column(people.engine, None, "person", "ssn_bidx_b", unique=True, length=37)
    yield people
    people.close()


def at_a_barrier(*works: Callable[[], Any]) -> list[Any]:
    """What each gives, or the error that it ended with, all begun at once."""
    barrier, ended = threading.Barrier(len(works)), [None] * len(works)

    def work(number: int) -> None:
        barrier.wait()
        try:
            ended[number] = works[number]()
        except Exception as error:
            ended[number] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended


def test_what_one_writes_the_other_finds_in_every_step(people: People) -> None:
    behind, ahead = people.process(TABLE), people.process(TABLE)
    command = people.vault()
    set_phase(command.key_store, command.keyring, SSN, Phase.DUAL_ASK_OLD)
    for process in (behind, ahead):
        process.field.keyring.beside.end()
    for key in range(10):
        ahead.insert(key, f"ssn {key}")
    for number, (before, after) in enumerate(STEPS):
        for process, phase in ((behind, before), (ahead, after)):
            set_phase(command.key_store, command.keyring, SSN, Phase(phase))
            process.field.keyring.beside.end()
            assert process.field.plan().indexes["bidx"].written
        one_step(behind, ahead, 100 * (number + 1))
        if after == 1:  # nobody fills what the first phase leaves out, so the table is what it was
            break


def one_step(behind: Process, ahead: Process, base: int) -> None:
    first, second, third = (f"value {base} {n}" for n in range(3))
    assert at_a_barrier(lambda: behind.insert(base, first), lambda: ahead.insert(base + 1, second)) == [None, None]
    found = at_a_barrier(*(lambda p=p, v=v: p.find(v) for p in (behind, ahead) for v in (first, second)))  # type: ignore[misc]
    assert found == [[base], [base + 1]] * 2
    assert at_a_barrier(lambda: behind.update(base + 1, third), lambda: ahead.update(base, second + "!")) == [
        None,
        None,
    ]
    assert [p.find(v) for p in (behind, ahead) for v in (first, second)] == [[]] * 4
    assert [p.find(third) for p in (behind, ahead)] == [[base + 1]] * 2
    refused = at_a_barrier(lambda: behind.insert(base + 2, second + "!"), lambda: ahead.insert(base + 3, third))
    assert [type(one) for one in refused] == [IntegrityError] * 2
    same = at_a_barrier(lambda: behind.insert(base + 4, "both"), lambda: ahead.insert(base + 5, "both"))
    assert sorted(type(one).__name__ for one in same) == ["IntegrityError", "NoneType"]
    (key,) = behind.find("both")
    assert ahead.find("both") == [key]
    ahead.update(key, f"was both {base}")
