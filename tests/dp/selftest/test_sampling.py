import pytest

from dp.noise.random_source import RandomSource
from dp.selftest.finding import FALSE_ALARM, Verdict
from dp.selftest.sampling import SAMPLERS, sampling
from tests.dp.seeded import SeededRandom
from tests.dp.selftest.broken import LoadedBytes, LoadedNumbers
from tests.sizes import sized

DRAWS = 20_000


def failed(draws: int, random: RandomSource) -> list[str]:
    return [finding.check for finding in sampling(draws, random) if finding.verdict is Verdict.FAIL]


def test_right_bits_pass_every_check() -> None:
    found = list(sampling(DRAWS, SeededRandom(1)))
    assert {finding.verdict for finding in found} == {Verdict.PASS}
    assert len(found) == 2 + 3 * len(SAMPLERS)
    for finding in found:
        if "told from" in finding.check:
            assert finding.p_value is not None
            assert finding.p_value < FALSE_ALARM / 1000  # with room, so that right ones do not fail by chance


def test_loaded_bits_are_seen() -> None:
    of_bytes = failed(sized(5_000, DRAWS), LoadedBytes(1))
    assert "random bytes, each as likely: chi-squared" in of_bytes
    assert any("in a batch" in check for check in of_bytes)
    laplace = SAMPLERS[0]
    assert laplace.law(1).fit(laplace.draw(sized(5_000, DRAWS), LoadedNumbers(1))).p_value < FALSE_ALARM


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
def test_each_sampler_is_told_from_a_slightly_wrong_claim(sampler: object) -> None:
    draws = sized(16_000, 40_000) if "batch" in sampler.name else sized(6_000, 15_000)  # type: ignore[attr-defined]
    drawn = sampler.draw(draws, SeededRandom(2))  # type: ignore[attr-defined]
    assert sampler.law(1).fit(drawn).p_value > FALSE_ALARM  # type: ignore[attr-defined]
    for factor in (0.82, 1.22) if sized(0, 1) else (0.75, 1.33):
        assert sampler.law(factor).fit(drawn).p_value < FALSE_ALARM  # type: ignore[attr-defined]
