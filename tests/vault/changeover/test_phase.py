from datetime import UTC, datetime
from itertools import pairwise

import pytest

from vault.changeover.phase import NOWHERE, Changeover, Phase, Subject

SUBJECT = Subject("patients", "name", "bidx")


def at(phase: Phase, old: str = "a", new: str = "b") -> Changeover:
    return Changeover(SUBJECT, old, new, phase, phase, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("phase", "asked", "written"),
    [
        (Phase.OLD, "a", ("a",)),
        (Phase.DUAL_ASK_OLD, "a", ("a", "b")),
        (Phase.DUAL_ASK_NEW, "b", ("a", "b")),
        (Phase.NEW, "b", ("b",)),
    ],
)
def test_each_phase_asks_one_place_and_writes_one_or_both(phase: Phase, asked: str, written: tuple[str, ...]) -> None:
    assert (at(phase).asked, at(phase).written) == (asked, written)


def test_what_one_process_asks_another_that_is_one_phase_apart_writes() -> None:
    for one, other in pairwise(Phase):
        assert at(one).asked in at(other).written
        assert at(other).asked in at(one).written
    assert at(Phase.OLD).asked not in at(Phase.NEW).written


def test_a_place_that_there_is_not_is_never_written() -> None:
    assert [at(phase, old=NOWHERE).written for phase in Phase] == [(), ("b",), ("b",), ("b",)]
    assert [at(phase, new=NOWHERE).written for phase in Phase] == [("a",), ("a",), ("a",), ()]


def test_a_subject_is_named_as_messages_name_it() -> None:
    assert SUBJECT.label == "patients.name index bidx"
    assert Subject("patients", "name", "").label == "patients.name"
    assert Subject("", "", "person").label == "shared index person"
    assert Subject("patients", "", "whole").label == "compound index patients.whole"
