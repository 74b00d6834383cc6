"""Two key services with a login each: the variables of one are not taken for the other."""

import pytest

from vault.cli.former_environment import former_environment

BOTH = {"VAULT_TOKEN": "one", "VAULT_CACERT": "ca", "NOISEVAULT_FORMER_2_VAULT_TOKEN": "two"}


def test_a_former_key_without_variables_of_its_own_takes_what_is_set() -> None:
    assert former_environment(1, BOTH) == BOTH
    assert former_environment(2, {}) == {}


def test_with_variables_of_its_own_it_takes_these_alone() -> None:
    found = former_environment(2, BOTH)
    assert found["VAULT_TOKEN"] == "two"
    assert "VAULT_CACERT" not in found


@pytest.mark.parametrize("name", ["PASSPHRASE_FILE", "VAULT_LOGIN", "PLAIN_HTTP_TO_LOOPBACK"])
def test_a_variable_of_ours_says_noisevault_once(name: str) -> None:
    assert former_environment(1, {f"NOISEVAULT_FORMER_1_{name}": "x"})[f"NOISEVAULT_{name}"] == "x"


def test_one_that_is_set_to_nothing_says_that_there_is_nothing() -> None:
    found = former_environment(1, {"NOISEVAULT_PASSPHRASE_FILE": "p", "NOISEVAULT_FORMER_1_PASSPHRASE_FILE": ""})
    assert found.get("NOISEVAULT_PASSPHRASE_FILE") == ""


def test_number_one_is_not_number_ten() -> None:
    environment = {"NOISEVAULT_FORMER_10_VAULT_TOKEN": "ten"}
    assert former_environment(1, environment) == environment
