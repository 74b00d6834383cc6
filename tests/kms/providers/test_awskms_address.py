"""Addresses of AWS keys: one spelling, no region assumed, and old data pinned to the key its row names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import CannotUnwrapError, MisconfiguredError
from kms.providers.awskms_address import AwsKmsAddress

ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
ARN = f"arn:aws:kms:eu-central-1:111122223333:key/{ID}"
ALIAS_ARN = "arn:aws:kms:eu-central-1:111122223333:alias/team/app"


@pytest.mark.parametrize(
    ("uri", "target", "region", "account"),
    [
        (f"awskms://{ARN}", ARN, "eu-central-1", "111122223333"),
        (f"awskms://{ALIAS_ARN}", ALIAS_ARN, "eu-central-1", "111122223333"),
        ("awskms://alias/team/app?region=us-gov-west-1", "alias/team/app", "us-gov-west-1", None),
    ],
)
def test_a_key_an_alias_and_an_alias_of_the_login_are_addresses(
    uri: str, target: str, region: str, account: str | None
) -> None:
    for spelling in (uri, f" {uri}\n", uri.replace("awskms", "AWSKMS", 1)):
        assert AwsKmsAddress.parse(spelling) == AwsKmsAddress(uri, target, region, account)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("", "named like awskms://"),
        (ARN, "named like awskms://"),
        (f"aws-kms://{ARN}", "named like awskms://"),
        (f"awskms:{ARN}", "named like awskms://"),
        ("awskms://", "not the name of a key"),
        (f"awskms://{ID}?region=eu-central-1", "not the name of a key"),
        (f"awskms:///{ARN}", "not the name of a key"),
        ("awskms://app?region=eu-central-1", "not the name of a key"),
        ("awskms://alias/?region=eu-central-1", "not the name of a key"),
        ("awskms://alias/a%2Fb?region=eu-central-1", "not the name of a key"),
        ("awskms://alias/aws/rds?region=eu-central-1", "create a key of your own"),
        ("awskms://arn:aws:kms:eu-central-1:111122223333:alias/aws/s3", "create a key of your own"),
        ("awskms://alias/app", "the region is missing, and none is assumed: write awskms://alias/app[?]region=REGION"),
        ("awskms://alias/app?region=", "not one like eu-central-1"),
        ("awskms://alias/app?region=kms.evil.example.org", "not one like eu-central-1"),
        ("awskms://alias/app?region=eu-central-1&region=us-east-1", "and nothing else"),
        ("awskms://alias/app?region=eu-central-1&endpoint=http://x", "and nothing else"),
        ("awskms://alias/app?region=eu-central-1#x", "nothing follows"),
        (f"awskms://{ARN}#x", "nothing follows"),
        (f"awskms://{ARN}?region=eu-central-1", "says its region itself"),
        (f"awskms://{ARN}?", "says its region itself"),
        (f"awskms://{ARN}/", "not the ARN of a key or an alias"),
        (f"awskms://{ARN.replace('eu-central-1', '')}", "not the ARN of a key or an alias"),
        (f"awskms://{ALIAS_ARN.replace('eu-central-1', '')}", "not one like eu-central-1"),
        ("awskms://arn:aws:s3:::bucket", "not the ARN of a key or an alias"),
    ],
)
def test_an_address_that_is_not_exact_is_refused_with_what_to_write(uri: str, why: str) -> None:
    with pytest.raises(MisconfiguredError, match=why):
        AwsKmsAddress.parse(uri)


@pytest.mark.parametrize(
    "uri", [f"awskms://AKIAEXAMPLE:hunter2@{ARN}", "awskms://AKIAEXAMPLE:hunter2@alias/app?region=eu-central-1"]
)
def test_a_login_in_the_address_is_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(MisconfiguredError, match="default chain") as raised:
        AwsKmsAddress.parse(uri)
    assert "hunter2" not in str(raised.value)


def test_the_region_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with pytest.raises(MisconfiguredError, match="none is assumed"):
        AwsKmsAddress.parse("awskms://alias/app")


@given(st.text(alphabet=st.sampled_from("abz/-_?=#@%:. 0"), max_size=30))
def test_an_address_read_again_is_the_same(text: str) -> None:
    try:
        address = AwsKmsAddress.parse(f"awskms://alias/{text}?region=eu-central-1")
    except MisconfiguredError:
        return
    assert AwsKmsAddress.parse(address.uri) == address


def test_a_request_is_pinned_to_the_arn_that_the_row_names() -> None:
    other = f"awskms://{ARN.replace('1234abcd', 'ffffffff')}"
    for uri in (f"awskms://{ARN}", f"awskms://{ALIAS_ARN}"):
        assert AwsKmsAddress.parse(uri).key_id_of(f"awskms://{ARN}") == ARN
        assert AwsKmsAddress.parse(uri).key_id_of(other) == other.removeprefix("awskms://")


def test_without_an_account_a_request_is_pinned_to_a_key_of_the_login_s_account() -> None:
    address = AwsKmsAddress.parse("awskms://alias/app?region=eu-central-1")
    assert address.key_id_of(f"awskms://{ARN}") == ID


@pytest.mark.parametrize(
    "kek",
    [
        f"awskms://{ARN.replace('111122223333', '999999999999')}",
        f"awskms://{ARN.replace('eu-central-1', 'us-east-1')}",
        f"awskms://{ALIAS_ARN}",
        ARN,
        "local:0011",
        "",
    ],
)
def test_a_row_that_names_a_key_elsewhere_is_not_sent(kek: str) -> None:
    """Who can write the key table could else have a key of their own account give the data key."""
    for uri in (f"awskms://{ARN}", f"awskms://{ALIAS_ARN}"):
        with pytest.raises(CannotUnwrapError, match="open it with"):
            AwsKmsAddress.parse(uri).key_id_of(kek)
