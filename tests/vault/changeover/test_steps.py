"""The state machine, against a model of processes that hold on to what they heard until their lease ends."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject
from vault.changeover.steps import STEPS, Evidence, Need, end_of, next_step, place_of_proof

LEASE = timedelta(seconds=180)
START = datetime(2026, 1, 1, tzinfo=UTC)
SUBJECT = Subject("patients", "name", "bidx")


def changeover(phase: Phase, came_from: Phase | None = None, old: str = "a", new: str = "b") -> Changeover:
    return Changeover(SUBJECT, old, new, phase, came_from or Phase(max(1, phase - 1)), START)


@dataclass
class Model:
    """Processes are in any phase that was the recorded one within the last lease. lacking: places some row is without.

    guarded: places of which a trigger refuses rows without them.
    """

    now: datetime = START
    current: Changeover = field(default_factory=lambda: changeover(Phase.OLD))
    past: list[tuple[datetime, Changeover]] = field(default_factory=list)
    lacking: set[str] = field(default_factory=lambda: {"b"})
    guarded: set[str] = field(default_factory=set)

    def alive(self) -> list[Changeover]:
        """What some process may hold: phases that ended less than a lease ago, and the one of now."""
        return [*(held for ended, held in self.past if self.now < ended + LEASE), self.current]

    def write(self) -> None:
        """Each process writes a row; a guarded place is not left out."""
        for held in self.alive():
            self.lacking |= {"a", "b"} - set(held.written) - self.guarded

    def look(self, place: str) -> None:
        """As note() of the store allows it: a lease after the phase began, with a guard, filling what lacks."""
        if place in self.current.written and self.now >= self.current.since + LEASE:
            self.guarded.add(place)
            self.lacking.discard(place)

    def try_step(self, to: Phase) -> bool:
        if (self.current.phase, to) not in STEPS:
            return False
        place = place_of_proof(self.current, to)
        found = Evidence(place in self.guarded, place in self.guarded and place not in self.lacking)
        if not next_step(self.current, to, found, self.now, LEASE).allowed:
            return False
        self.past.append((self.now, self.current))
        before = self.current
        self.current = Changeover(SUBJECT, "a", "b", to, before.phase, self.now)
        self.guarded -= set(before.written) - set(self.current.written)
        return True


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([1, 60, 179, 180, 200])),
        st.tuples(st.just("step"), st.sampled_from(list(Phase))),
        st.tuples(st.just("look"), st.sampled_from(["a", "b"])),
    ),
    max_size=40,
)


@given(ACTIONS)
def test_processes_are_never_two_phases_apart_and_no_asked_place_lacks_a_row(actions: list[tuple[str, object]]) -> None:
    model = Model()
    for what, how in actions:
        model.write()
        if what == "wait":
            assert isinstance(how, int)
            model.now += timedelta(seconds=how)
        elif what == "step":
            assert isinstance(how, Phase)
            model.try_step(how)
        else:
            model.look(str(how))
        phases = [held.phase for held in model.alive()]
        assert max(phases) - min(phases) <= 1
        model.write()
        assert not {held.asked for held in model.alive()} & model.lacking


def test_forward_by_the_book_takes_three_leases() -> None:
    model, steps = Model(), 0
    assert model.try_step(Phase.DUAL_ASK_OLD), "the first is made at once"
    for to in (Phase.DUAL_ASK_NEW, Phase.NEW):
        assert not model.try_step(to)
        model.now += LEASE
        model.look("b")
        assert model.try_step(to)
        steps += 1
    assert (model.current.phase, steps) == (Phase.NEW, 2)
    assert not end_of(model.current, Evidence(empty=True), model.now, LEASE).allowed
    assert end_of(model.current, Evidence(empty=True), model.now + LEASE, LEASE).allowed


def test_what_is_missing_is_told() -> None:
    told = next_step(changeover(Phase.DUAL_ASK_OLD), Phase.DUAL_ASK_NEW, Evidence(), START, LEASE)
    assert told.missing == {Need.LEASE, Need.GUARD, Need.PROOF}
    assert told.ready_at == START + LEASE
    assert "a sealing lease since the phase before began" in str(told)
    assert "(over at 2026-01-01 00:03:00 UTC)" in str(told)
    found = Evidence(guarded=True, complete=True)
    after = next_step(changeover(Phase.DUAL_ASK_OLD), Phase.DUAL_ASK_NEW, found, START + LEASE, LEASE)
    assert after.allowed
    assert str(after) == "nothing is missing"


def test_the_last_step_alone_is_taken_back_at_once() -> None:
    asked_new = changeover(Phase.DUAL_ASK_NEW, came_from=Phase.DUAL_ASK_OLD)
    assert next_step(asked_new, Phase.DUAL_ASK_OLD, Evidence(), START, LEASE).allowed
    back_from_new = changeover(Phase.DUAL_ASK_NEW, came_from=Phase.NEW)
    assert next_step(back_from_new, Phase.DUAL_ASK_OLD, Evidence(), START + LEASE, LEASE).missing == {
        Need.GUARD,
        Need.PROOF,
    }


def test_where_there_is_no_place_there_is_nothing_to_prove() -> None:
    removing = changeover(Phase.DUAL_ASK_OLD, new=NOWHERE)
    assert next_step(removing, Phase.DUAL_ASK_NEW, Evidence(), START + LEASE, LEASE).allowed
    made = changeover(Phase.NEW, old=NOWHERE)
    assert end_of(made, Evidence(), START + LEASE, LEASE).allowed


def test_a_step_over_a_phase_and_an_end_in_the_middle_are_no_steps() -> None:
    with pytest.raises(ValueError, match="one phase at a time"):
        next_step(changeover(Phase.OLD), Phase.DUAL_ASK_NEW, Evidence(), START, LEASE)
    with pytest.raises(ValueError, match="in the middle"):
        end_of(changeover(Phase.DUAL_ASK_NEW), Evidence(), START, LEASE)
