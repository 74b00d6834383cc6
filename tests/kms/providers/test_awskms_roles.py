"""The policies in docs/keys-aws.md let each role do its work and nothing else, as far as the imitation checks policies.

It checks the actions of identity policies. It knows no resources, conditions and key policies, and asks for the name of
the operation where AWS asks for kms:ReEncryptFrom and kms:ReEncryptTo; what it is given differs in these two.
"""

import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import moto.settings
import pytest
from botocore.exceptions import ClientError

from kms.errors import AccessDeniedError
from kms.provider import Wrapped
from kms.providers.awskms import AwsKmsProvider
from kms.providers.awskms_context import encryption_context
from kms.secret import SecretKey
from tests.kms.providers.aws import REGION, Aws, place

KEY = SecretKey(bytes(range(32)))
PAGE = Path(__file__).parents[3] / "docs" / "keys-aws.md"
POLICIES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)]
APP, ROTATOR, ADMIN = (policy for policy in POLICIES if "Statement" in policy)

WORK: dict[str, Callable[[AwsKmsProvider, Wrapped], object]] = {
    "wrap": lambda provider, _: provider.wrap(KEY, place()),
    "unwrap": lambda provider, wrapped: provider.unwrap([(wrapped, place())]),
    "rewrap": lambda provider, wrapped: provider.rewrap([(wrapped, place())]),
}


def as_checked(policy: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(policy).replace("kms:ReEncryptFrom", "kms:ReEncrypt").replace('"kms:ReEncryptTo"', '"kms:None"')
    checked: dict[str, Any] = json.loads(text)
    for statement in checked["Statement"]:
        statement["Resource"] = "*"
    return checked


@pytest.fixture
def arn(aws: Aws) -> str:
    return aws.create_key()


@pytest.fixture
def role(aws: Aws, arn: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], boto3.Session]:
    """A login with one policy, as the login of this process. From then on policies are enforced."""

    def login(policy: dict[str, Any]) -> boto3.Session:
        name = f"role-{secrets.token_hex(4)}"
        iam = boto3.Session("AKIAEXAMPLE", "hunter2", region_name=REGION).client("iam", endpoint_url=aws.url)
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="role", PolicyDocument=json.dumps(as_checked(policy)))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        monkeypatch.setattr(moto.settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0.0)
        return boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name=REGION)

    return login


@pytest.mark.parametrize(
    ("policy", "may"),
    [(APP, {"unwrap"}), (ROTATOR, {"wrap", "unwrap", "rewrap"}), (ADMIN, set())],
    ids=["app", "rotator", "admin"],
)
def test_each_role_does_its_work_with_keys_and_no_more(
    aws: Aws, arn: str, role: Callable[[dict[str, Any]], boto3.Session], policy: dict[str, Any], may: set[str]
) -> None:
    wrapped = aws.provider(arn).wrap(KEY, place())
    role(policy)
    provider = aws.provider(arn)
    for name, work in WORK.items():
        if name in may:
            work(provider, wrapped)
        else:
            with pytest.raises(AccessDeniedError, match=arn):
                work(provider, wrapped)


@pytest.mark.parametrize(("policy", "may"), [(APP, False), (ROTATOR, False), (ADMIN, True)])
def test_only_the_administrator_makes_and_ends_keys(
    aws: Aws, arn: str, role: Callable[[dict[str, Any]], boto3.Session], policy: dict[str, Any], may: bool
) -> None:
    client = role(policy).client("kms", endpoint_url=aws.url)
    key_id = arn.rpartition("/")[2]
    for work in (
        client.create_key,
        lambda: client.create_alias(AliasName=f"alias/x{secrets.token_hex(4)}", TargetKeyId=key_id),
        lambda: client.describe_key(KeyId=key_id),
        lambda: client.enable_key_rotation(KeyId=key_id),
        lambda: client.disable_key(KeyId=key_id),
        lambda: client.schedule_key_deletion(KeyId=key_id, PendingWindowInDays=30),
        lambda: client.cancel_key_deletion(KeyId=key_id),
    ):
        if may:
            work()
        else:
            with pytest.raises(ClientError, match="AccessDenied"):
                work()


@pytest.mark.parametrize("policy", [APP, ROTATOR])
def test_the_use_of_keys_is_held_to_named_keys_and_to_our_context(policy: dict[str, Any]) -> None:
    """A lint of the text, since the imitation checks neither."""
    for statement in policy["Statement"]:
        assert statement["Resource"] == "arn:aws:kms:REGION:ACCOUNT:key/ID"
        words = encryption_context(place())
        assert statement["Condition"] == {"StringEquals": {"kms:EncryptionContext:noisevault": words["noisevault"]}}
