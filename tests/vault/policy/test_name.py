import pytest
from pydantic import TypeAdapter, ValidationError

from vault.policy.name import LONGEST_NAME, Name

names = TypeAdapter(Name)


@pytest.mark.parametrize("name", ["a", "_a1", "Person", "x" * LONGEST_NAME])
def test_names_are_plain_identifiers(name: str) -> None:
    assert names.validate_python(name) == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a-b", "é", 'a"', "x" * (LONGEST_NAME + 1), "a\n"])
def test_anything_else_is_no_name(name: str) -> None:
    with pytest.raises(ValidationError, match="a name is letters"):
        names.validate_python(name)


def test_the_vaults_own_prefix_is_kept_free() -> None:
    with pytest.raises(ValidationError, match="choose another"):
        names.validate_python("NoiseVault_key")


def test_term_columns_of_the_longest_name_still_fit_postgresql() -> None:
    assert len("x" * LONGEST_NAME + "_bidx_a") == 63
