import threading
from dataclasses import replace

from tests.kms.manual_clock import ManualClock
from vault.definitions.definition import FieldDefinition
from vault.sealed.generations import Generations

FIRST = FieldDefinition("patients", "age", "int64/1")
SECOND = replace(FIRST, codec="int/1", generation=1)


class Recorded:
    def __init__(self) -> None:
        self.reads = 0
        self.there = {0: FIRST}

    def __call__(self) -> dict[int, FieldDefinition]:
        self.reads += 1
        return dict(self.there)


def test_what_is_recorded_later_is_learnt_by_one_reading_and_what_is_not_is_asked_for_seldom() -> None:
    recorded, clock = Recorded(), ManualClock()
    generations = Generations({0: FIRST}, recorded, clock)
    assert generations.find(0) is FIRST
    assert recorded.reads == 0
    threads = [threading.Thread(target=generations.find, args=(1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded.reads == 1
    recorded.there[1] = SECOND
    assert generations.find(1) is None
    clock.advance(5)
    assert generations.find(1) == SECOND
    assert generations.known() == [FIRST, SECOND]
    assert recorded.reads == 2
    generations.forget_after_fork()
    assert generations.find(1) == SECOND
