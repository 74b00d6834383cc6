from dp.selftest.finding import Verdict
from dp.selftest.granularity import granularity
from tests.dp.seeded import SeededRandom


def test_every_value_gives_answers_on_the_step() -> None:
    found = list(granularity(SeededRandom(1)))
    assert len(found) == 6
    assert {(finding.statistic, finding.p_value, finding.verdict) for finding in found} == {(0, None, Verdict.PASS)}
