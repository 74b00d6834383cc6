"""ARNs of keys: one spelling each, and nothing else is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.providers.awskms_arn import KeyArn

ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
ARN = f"arn:aws:kms:eu-central-1:111122223333:key/{ID}"


@pytest.mark.parametrize(
    "arn",
    [
        ARN,
        f"arn:aws-cn:kms:cn-north-1:111122223333:key/{ID}",
        f"arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/{ID}",
        "arn:aws:kms:ap-southeast-2:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab",
    ],
)
def test_what_is_read_is_written_the_same(arn: str) -> None:
    read = KeyArn.parse(arn)
    assert read is not None
    assert str(read) == arn
    assert read.kek == f"awskms://{arn}"
    assert KeyArn.of_kek(read.kek) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        ID,
        ARN.upper(),
        ARN + "\n",
        " " + ARN,
        ARN[:-1],
        ARN + "0",
        ARN.replace("key/", "alias/"),
        ARN.replace("kms", "s3"),
        ARN.replace("111122223333", "11112222333"),
        ARN.replace("111122223333", "١١١١٢٢٢٢٣٣٣٣"),
        ARN.replace("eu-central-1", ""),
        ARN.replace("eu-central-1", "*"),
        "arn:aws:kms:eu-central-1:111122223333:alias/app",
    ],
)
def test_nothing_else_is_the_arn_of_a_key(text: str) -> None:
    assert KeyArn.parse(text) is None
    assert KeyArn.of_kek(f"awskms://{text}") is None


def test_a_key_of_another_service_is_none_of_aws() -> None:
    assert KeyArn.of_kek(ARN) is None
    assert KeyArn.of_kek(f"local:{ARN}") is None


@given(st.text(max_size=80))
def test_whatever_parses_is_canonical(text: str) -> None:
    read = KeyArn.parse(text)
    assert read is None or str(read) == text
