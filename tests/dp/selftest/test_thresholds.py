from dp.selftest.finding import Verdict
from dp.selftest.thresholds import thresholds
from tests.dp.seeded import SeededRandom
from tests.dp.selftest.broken import LoadedBytes


def test_keys_are_shown_as_often_as_delta_says() -> None:
    assert [finding.verdict for finding in thresholds(20_000, SeededRandom(1))] == [Verdict.PASS] * 4


def test_keys_that_are_shown_more_often_are_seen() -> None:
    assert Verdict.FAIL in [finding.verdict for finding in thresholds(200_000, LoadedBytes(1))]
