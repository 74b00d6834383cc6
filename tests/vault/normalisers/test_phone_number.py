from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from kms.derive import index_key
from kms.secret import SecretKey
from tests.servers.not_run import need_module
from tests.vault.vector_cases import cases, error_of, value_of
from vault.codecs import codec_named
from vault.errors import DefinitionError
from vault.normalisers import normaliser_named
from vault.normalisers.phone_number import phone
from vault.terms.term import equality_encoding, term


def term_of(test: dict[str, Any]) -> str:
    """What the value of a vector gives by the vector's normaliser and keys."""
    field, index = test["field"], test["index"]
    encoding = equality_encoding(codec_named("str/1"), normaliser_named(index["normaliser"]))(value_of(test["value"]))
    assert encoding is not None
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    key = index_key(SecretKey(raw), keyring, field["table"], field["column"], index["name"])
    return term(key, field["generation"], key_id, encoding, index["bits"]).hex()


@pytest.fixture(autouse=True)
def library(request: pytest.FixtureRequest) -> str:
    """The version that is installed."""
    need_module(request.node, "phonenumbers")
    return version("phonenumbers")


@pytest.mark.parametrize("test", cases("phone", "valid"))
def test_k03_08_numbers_are_read_as_published(test: dict[str, Any]) -> None:
    assert normaliser_named(test["index"]["normaliser"]).apply(test["value"]["str"]) == test["normalised"]
    assert term_of(test) == test["term"]


@pytest.mark.parametrize("test", cases("phone", "invalid", error="TermMismatch"))
def test_k03_08_another_number_has_another_term_as_published(test: dict[str, Any]) -> None:
    assert term_of(test) != test["term"]


@pytest.mark.parametrize(
    "test", cases("phone", "invalid", error="InvalidValueError") + cases("phone", "invalid", error="DefinitionError")
)
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(error_of(test)) as raised:
        term_of(test)
    assert "7946" not in str(raised.value)


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
