from datetime import UTC, datetime

from vault.changeover.phase import Changeover, Phase, Subject
from vault.jobs.reindexing.standing import Standing

MOVING = Changeover(Subject("patient", "name", "bidx"), "a", "b", Phase.DUAL_ASK_OLD, Phase.OLD, datetime.now(UTC))


def test_a_change_is_done_when_there_is_none_any_more() -> None:
    assert Standing(None).is_done
    assert not Standing(MOVING, "rows are left").is_done
