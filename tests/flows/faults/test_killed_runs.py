"""A run is killed again and again, at moments that nobody chose, while services write: nothing is lost or undone."""

import random
import time
from pathlib import Path

from tests.flows.faults.runs import run, run_to_the_end
from tests.flows.faults.traffic import traffic
from tests.flows.faults.visits import Place, make_visits, require_whole, rotate
from tests.sizes import sized

ROWS, KILLS, REST = sized(300, 20_000), sized(3, 50), sized(60, 2) / 1000
LONGEST_LIFE = 0.6


def test_k12_08_no_kill_loses_a_value_or_undoes_a_write_or_leaves_a_row(tmp_path: Path, database_url: str) -> None:
    """A third of the runs at any moment, a third from when they began, a third from when they have written."""
    project, place = make_visits(tmp_path, database_url, ROWS), Place(tmp_path)
    chance, kills, resumed = random.Random(), 0, 0
    with traffic(place, ROWS, rest=REST) as told:
        key_id = rotate(project)
        while kills < KILLS:
            with run(place, 40, silence=0.3, rate=ROWS / (KILLS * LONGEST_LIFE / 2)) as one:
                if kills % 3:
                    one.until_told("began" if kills % 3 == 1 else "advanced")
                time.sleep(chance.random() * LONGEST_LIFE)
                if one.is_running:
                    one.kill9()
                    kills += 1
                    resumed += any(began["resumed"] for began in one.told("began"))
                else:  # it was quicker: there is work again under a new key
                    assert one.end() == 0, one.told("refused")
                    key_id = rotate(project)
        # One that surely has written, and surely is not through.
        key_id = rotate(project)
        with run(place, 40, silence=0.3, rate=ROWS / sized(6, 30)) as one:
            assert one.until_told("advanced", 2)
            one.kill9()
        status, last = run_to_the_end(place)
        resumed += any(began["resumed"] for began in last.told("began"))
    assert status == 0, (last.told("refused"), last.told("proved"))
    assert resumed, "runs went on where others had died"
    assert (told.wrong, told.errors) == ([], {})
    assert all(told.done[act] for act in ("change", "rename", "insert", "delete", "two", "read", "find", "quiet"))
    require_whole(project, told.allowed, key_id)
    project.close()
