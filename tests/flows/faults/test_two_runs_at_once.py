"""Two runs of one job that begin at once: one works, the other says so; when the one dies the other goes on."""

from pathlib import Path

import pytest

from tests.flows.faults.runs import run, run_to_the_end
from tests.flows.faults.visits import PROCESSES, Place, as_first, make_visits, require_whole, rotate
from tests.pairwise import one_of
from tests.servers.databases import DATABASES
from tests.sizes import sized

ROWS, ROUNDS = sized(200, 400), sized(2, 20)


def test_of_two_that_begin_at_a_barrier_one_works_and_the_other_says_so(tmp_path: Path, database_url: str) -> None:
    """The first time there are no job tables yet, and both make them."""
    project, place = make_visits(tmp_path, database_url, ROWS), Place(tmp_path)
    for _ in range(ROUNDS):
        key_id = rotate(project)
        barrier = PROCESSES.Barrier(2)
        slow = {"silence": 30.0, "rate": ROWS / 2, "barrier": barrier}
        with run(place, 20, **slow) as one, run(place, 20, **slow) as other:
            assert sorted([one.end(), other.end()]) == [0, 1], (one.told("refused"), other.told("refused"))
            refused, worked = (one, other) if one.told("refused") else (other, one)
            assert "is run by another process now" in refused.message
            assert not refused.told("advanced")
            assert worked.told("ended")[-1]["rewritten"] == ROWS
        require_whole(project, as_first(ROWS), key_id)
    project.close()


@pytest.mark.parametrize("database_url", one_of(DATABASES, 1), indirect=True)
def test_when_the_first_is_killed_the_second_waits_for_the_silence_and_goes_on(
    tmp_path: Path, database_url: str
) -> None:
    project, place = make_visits(tmp_path, database_url, ROWS), Place(tmp_path)
    key_id = rotate(project)
    with run(place, 10, rate=ROWS / 8) as first:
        assert first.until_told("advanced", 2)
        with run(place, 10, silence=3.0) as refused:
            assert refused.end() == 1, "it sees that the first lives"
        first.kill9()
        written = first.told("advanced")[-1]["rewritten"]
    status, second = run_to_the_end(place, silence=3.0)
    assert status == 0, second.told("refused")
    (began,) = second.told("began")
    assert began["resumed"]
    assert began["seen"] >= written
    assert second.told("ended")[-1]["rewritten"] == ROWS - began["seen"]
    require_whole(project, as_first(ROWS), key_id)
    project.close()


def test_of_several_that_wait_for_a_dead_one_s_job_one_has_it(tmp_path: Path, database_url: str) -> None:
    project, place = make_visits(tmp_path, database_url, ROWS), Place(tmp_path)
    key_id = rotate(project)
    with run(place, 10, rate=50.0) as first:
        assert first.until_told("advanced")
        first.kill9()
    barrier = PROCESSES.Barrier(3)
    each = [run(place, 10, rate=ROWS / 2, silence=3.0, barrier=barrier) for _ in range(3)]
    with each[0] as a, each[1] as b, each[2] as c:
        assert sorted(one.end() for one in (a, b, c)) == [0, 1, 1], [one.told("refused") for one in (a, b, c)]
    require_whole(project, as_first(ROWS), key_id)
    project.close()
