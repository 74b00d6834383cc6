import pytest

from tests.vault.policy.example import example_policy, faults_after, policy_after


def test_a_delta_is_kept_in_units_of_1e_18() -> None:
    assert example_policy().dataset["rand"].unknown["email"].atto_delta == 10**12
    tiny = policy_after(('delta = "1e-6"', 'delta = "1e-18"')).dataset["rand"].unknown["email"]
    assert tiny.atto_delta == 1


@pytest.mark.parametrize("written", ["0", '"-1e-6"', '"1e-19"', '"0.01"', "1", "true", '"nan"', '"a"', '"1.5e-18"'])
def test_a_delta_that_is_none_names_its_key(written: str) -> None:
    (found,) = faults_after(('delta = "1e-6"', f"delta = {written}"))
    assert found.startswith("dataset.rand.unknown.email.delta: ")


def test_its_keys_are_named() -> None:
    (found,) = faults_after(('delta = "1e-6"', 'delta = "1e-6", at = 1'))
    assert found == "dataset.rand.unknown.email.at: unknown key; there are: delta"
