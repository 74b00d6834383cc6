import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import InvalidValueError
from vault.normalisers.email_address import email, email_domain

ANA = "ana.maria@mail.example"


@pytest.mark.parametrize(
    "spelling",
    [
        "Ana.Maria@Mail.EXAMPLE",
        " Ana.Maria@mail.example ",
        "\u3000ana.maria@mail.example.",
        "ana.maria\uff20mail.example",
    ],
)
def test_k03_03_spellings_of_an_address_are_one_value(spelling: str) -> None:
    assert email.apply(spelling) == ANA


@pytest.mark.parametrize(
    "other", ["anamaria@mail.example", "ana.maria+x@mail.example", "ana.maria@mail", "ana maria@mail.example", ""]
)
def test_other_addresses_stay_others(other: str) -> None:
    assert email.apply(other) != ANA


def test_what_is_no_address_matches_itself_only() -> None:
    assert email.apply(" Unknown ") == "unknown"
    assert email_domain.apply("unknown") is None
    assert email_domain.apply("unknown@") is None


@given(st.text())
def test_the_rule_is_its_own_fixed_point(text: str) -> None:
    try:
        once = email.apply(text)
    except InvalidValueError:
        return
    assert email.apply(once) == once


def test_a_domain_is_asked_by_itself_or_by_an_address_at_it() -> None:
    assert email_domain.asked is not None
    assert email_domain.apply("a@b@Mail.EXAMPLE.") == "mail.example"
    assert {email_domain.asked(one) for one in ("mail.example", " MAIL.example. ", ANA)} == {"mail.example"}
    with pytest.raises(InvalidValueError):
        email_domain.asked(" . ")
