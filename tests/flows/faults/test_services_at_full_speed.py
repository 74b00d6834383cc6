"""Services at full speed notice nothing of rotations and re-encryption; the same traffic without is the control.

In scripts/test they are fewer, and rest a little.
"""

import time
from pathlib import Path

from tests.flows.faults.runs import run
from tests.flows.faults.traffic import Traffic, traffic
from tests.flows.faults.visits import Place, fill, key_ids, make_visits, require_whole, rotate
from tests.sizes import sized

ROWS, SECONDS = sized(200, 20_000), sized(1, 30)
PROCESSES, THREADS, REST = 2, sized(2, 4), sized(20, 0) / 1000


def test_clients_get_no_wrong_answer_and_no_error_that_they_would_not_have_had(
    tmp_path: Path, database_url: str
) -> None:
    first, second = tmp_path / "control", tmp_path / "rotated"
    first.mkdir()
    control = _alone(first, database_url)
    second.mkdir()
    told, rotations = _rotated(second, database_url)
    assert rotations >= 2
    assert (control.wrong, told.wrong) == ([], [])
    assert control.errors == {}
    assert told.errors == {}
    assert all(told.done[act] > 0 for act in control.done)


def _alone(folder: Path, url: str) -> Traffic:
    project = make_visits(folder, _other(url), ROWS)
    with traffic(Place(folder), ROWS, PROCESSES, THREADS, REST) as told:
        time.sleep(SECONDS)
    require_whole(project, told.allowed)
    with project.engine.begin() as connection:
        project.table("visit").drop(connection)
    project.close()
    return told


def _rotated(folder: Path, url: str) -> tuple[Traffic, int]:
    """Rotated and re-encrypted again and again."""
    project, place, rotations = make_visits(folder, url, ROWS), Place(folder), 0
    end = time.monotonic() + SECONDS
    with traffic(place, ROWS, PROCESSES, THREADS, REST) as told:
        while rotations < 2 or time.monotonic() < end:
            key_id = rotate(project)
            rotations += 1
            with run(place, 200) as one:
                assert one.end() == 0, (one.told("refused"), one.told("proved"))
    with run(place, 200) as last:  # what was sealed within the lease, and waited for a lock until after the proof
        assert last.end() == 0
    require_whole(project, told.allowed, key_id)
    project.close()
    return told, rotations


def _other(url: str) -> str:
    return url.replace("application.db", "control.db")


def test_a_control_that_is_wrong_is_seen(tmp_path: Path) -> None:
    """What the clients compare with is what they committed: rows that another changes behind them are told."""
    project = make_visits(tmp_path, f"sqlite:///{tmp_path / 'application.db'}", 40)
    table = project.table("visit")
    with traffic(Place(tmp_path), 40, 1, 1) as told:
        with project.engine.begin() as connection:
            connection.execute(table.delete())
        fill(project, range(1, 40))
        end = time.monotonic() + 60
        while not list(tmp_path.glob("*.wrong")):
            assert time.monotonic() < end
            time.sleep(0.01)
    assert told.wrong
    assert len(key_ids(project)) == 1
    project.close()
