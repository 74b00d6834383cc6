from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from tests.servers.not_run import need_module
from vault.errors import DefinitionError
from vault.normalisers import normaliser_named
from vault.normalisers.phone_number import phone


@pytest.fixture(autouse=True)
def library(request: pytest.FixtureRequest) -> str:
    """The version that is installed."""
    need_module(request.node, "phonenumbers")
    return version("phonenumbers")


def test_k03_08_spellings_of_a_number_are_one_value_and_what_is_none_matches_itself_only() -> None:
    gb = phone("GB")
    spellings = ("+44 20 7946 0018", "020 7946 0018", "(020) 7946-0018")
    assert {gb.apply(spelling) for spelling in spellings} == {"+442079460018"}
    assert gb.apply("1234") == gb.apply(" 1234 ") == "text:1234"
    assert gb.apply("") == "text:"
    assert gb.apply("text:1234") != gb.apply("1234")


def test_an_extension_counts() -> None:
    assert phone("GB").apply("020 7946 0018 ext. 7") == "+442079460018;ext=7"


def test_without_a_region_only_international_spellings_are_read() -> None:
    anywhere = phone()
    assert anywhere.apply("+44 20 7946 0018") == "+442079460018"
    assert anywhere.apply("020 7946 0018") == "text:020 7946 0018"


def test_the_id_names_region_and_version_and_gives_the_same(library: str) -> None:
    assert phone("GB").id == f"phone-gb/{library}"
    assert normaliser_named(phone("GB").id) == phone("GB", metadata=library)
    assert normaliser_named(phone("GB").id).apply("020 7946 0018") == "+442079460018"


def test_another_version_than_is_installed_is_read_and_not_used(library: str) -> None:
    recorded = normaliser_named("phone-gb/8.1.1")
    for use in (lambda: recorded.apply("020 7946 0018"), lambda: phone("GB", metadata="8.1.1")):
        with pytest.raises(DefinitionError, match=f"8.1.1, which is installed as {library}: pip install"):
            use()


@pytest.mark.parametrize("region", ["gb", "XX", "", "G"])
def test_an_unknown_region_is_refused(region: Any) -> None:
    with pytest.raises(DefinitionError, match="two capital letters"):
        phone(region)


def test_a_version_that_is_nowhere_is_refused() -> None:
    with pytest.raises(PackageNotFoundError):
        version("phonenumbers-nowhere")
    with pytest.raises(DefinitionError, match="there is no normaliser"):
        normaliser_named("phone-gb/x")
