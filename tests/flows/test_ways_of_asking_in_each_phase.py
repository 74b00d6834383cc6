"""While indexes change over, every way of asking has the answer that it always has."""

import pytest

from tests.flows.clinics import EACH_DRIVER, Clinic
from tests.flows.phases import changing, turn
from tests.flows.test_ways_of_asking import ANSWERED, REFUSED, _plain_rows, fill
from tests.pairwise import covering_params
from vault.changeover.phase import Phase
from vault.errors import SealedColumnError

__all__ = ["changing"]


def _near(_driver: str, written: Phase, asked: Phase, old: str) -> bool:
    return abs(written - asked) <= 1 and (old == "a" or written is asked)


@pytest.mark.parametrize(
    ("changing", "written", "asked", "old"),
    covering_params(EACH_DRIVER, Phase, Phase, "ab", possible=_near),
    indirect=["changing"],
)
def test_each_way_of_asking_finds_what_a_process_one_phase_apart_wrote(
    changing: Clinic, written: Phase, asked: Phase, old: str
) -> None:
    turn(changing.opened, written, old)
    changing.run(fill)
    turn(changing.opened, asked, old)
    wrong = []
    for name, question in ANSWERED.items():
        changing.spy.sent.clear()
        found = changing.run(lambda session, question=question: _plain_rows(session, question.ask))
        if sorted(found, key=repr) != sorted(question.answer, key=repr):
            wrong.append((name, found, question.answer))
        assert not changing.spy.saw_plaintext()
        assert not [sql for sql, _ in changing.spy.sent if "{" in sql]
    changing.empty()
    assert not wrong


@pytest.mark.parametrize(("changing", "phase"), covering_params(EACH_DRIVER, Phase, together=1), indirect=["changing"])
def test_what_is_refused_is_refused_in_each_phase(changing: Clinic, phase: Phase) -> None:
    turn(changing.opened, phase)
    for refusal in REFUSED.values():

        def ask(session, refusal=refusal) -> None:  # type: ignore[no-untyped-def]
            with pytest.raises(SealedColumnError, match=refusal.remedy):
                session.execute(refusal.ask()).all()

        changing.run(ask)
