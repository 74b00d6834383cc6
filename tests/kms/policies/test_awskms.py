"""Each role's IAM policy: its actions are those that the role's work calls for, no more and no fewer.

Nothing here enforces a policy: the imitation of AWS has no resources, conditions and key policies. What it can check,
actions of identity policies, tests/kms/providers/test_awskms_roles.py does, with the policies of docs/keys-aws.md.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kms.errors import MisconfiguredError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.policies import Role
from kms.policies.awskms import iam_policy
from tests.kms.providers.aws import Aws, sent_by

KEY = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-00000000000"
ALIAS = "arn:aws:kms:eu-central-1:123456789012:alias/noisevault"
# AWS's documentation of KMS permissions: ReEncrypt asks for one permission on each of its two keys.
PERMISSIONS = {"ReEncrypt": {"kms:ReEncryptFrom", "kms:ReEncryptTo"}}


def actions(policy: str) -> set[str]:
    (statement,) = json.loads(policy)["Statement"]
    given = statement["Action"]
    return {given} if isinstance(given, str) else set(given)


def work_of_an_app(keyring: Keyring) -> None:
    keyring.warm()
    keyring.sealing(Purpose.DATA)
    keyring.opening(Purpose.DATA, keyring.records(Purpose.DATA)[0].key_id)


def work_of_a_rotator(keyring: Keyring) -> None:
    keyring.lifecycle.rotate(Purpose.DATA)
    keyring.lifecycle.prepare(Purpose.INDEX)
    keyring.lifecycle.rewrap()
    assert keyring.lifecycle.check() == []


@pytest.mark.parametrize(("role", "work"), [(Role.APP, work_of_an_app), (Role.ROTATOR, work_of_a_rotator)])
def test_a_role_may_call_exactly_what_its_work_calls(
    aws: Aws, store: KeyStore, role: Role, work: Callable[[Keyring], None]
) -> None:
    arn = aws.create_key()
    Keyring.create(store, aws.provider(arn), "main")
    provider = aws.provider(arn)
    sent = sent_by(provider)
    work(Keyring.open(store, provider, "main"))
    called = {name for operation, _ in sent for name in PERMISSIONS.get(operation, {f"kms:{operation}"})}
    assert called == actions(iam_policy([f"awskms://{arn}"], role))


def test_making_a_keyring_calls_what_the_rotator_may(aws: Aws, store: KeyStore) -> None:
    provider = aws.provider(aws.create_key())
    sent = sent_by(provider)
    Keyring.create(store, provider, "main")
    assert {f"kms:{operation}" for operation, _ in sent} <= actions(iam_policy([f"awskms://{KEY}1"], Role.ROTATOR))


@pytest.mark.parametrize("role", [Role.APP, Role.ROTATOR])
def test_only_the_named_keys_may_be_used_and_only_for_wraps_of_ours(role: Role) -> None:
    for uris, resource in (
        ([f"awskms://{KEY}1"], f"{KEY}1"),
        ([f"awskms://{KEY}1", f"awskms://{ALIAS}", f"awskms://{KEY}2", f"awskms://{KEY}1"], [f"{KEY}1", f"{KEY}2"]),
    ):
        (statement,) = json.loads(iam_policy(uris, role))["Statement"]
        assert (statement["Effect"], statement["Resource"]) == ("Allow", resource)
        assert statement["Condition"] == {"StringEquals": {"kms:EncryptionContext:noisevault": "1 wrap"}}


def test_the_administrator_is_denied_every_use_and_gives_none_away() -> None:
    made, kept, denied = json.loads(iam_policy([f"awskms://{KEY}1"], Role.ADMIN))["Statement"]
    assert made == {"Effect": "Allow", "Action": ["kms:CreateKey", "kms:ListAliases"], "Resource": "*"}
    assert kept["Resource"] == f"{KEY}1"
    assert not {"kms:PutKeyPolicy", "kms:CreateGrant", "kms:UpdateAlias"} & set(kept["Action"])
    assert (denied["Effect"], denied["Resource"]) == ("Deny", "*")
    rotator = actions(iam_policy([f"awskms://{KEY}1"], Role.ROTATOR))
    patterns = [action.rstrip("*") for action in denied["Action"]]
    assert all(any(action.startswith(pattern) for pattern in patterns) for action in rotator)
    assert not any(action.startswith(pattern) for action in kept["Action"] for pattern in patterns)


@pytest.mark.parametrize("alias", [ALIAS, "alias/noisevault?region=eu-central-1"])
def test_the_administrator_moves_a_named_alias(alias: str) -> None:
    _, kept, _ = json.loads(iam_policy([f"awskms://{alias}", f"awskms://{KEY}1"], Role.ADMIN))["Statement"]
    assert kept["Resource"] == [f"{KEY}1", ALIAS]
    assert {"kms:CreateAlias", "kms:UpdateAlias"} <= set(kept["Action"])


@pytest.mark.parametrize("role", Role)
def test_an_alias_alone_is_refused_with_the_command_that_tells_its_key(role: Role) -> None:
    with pytest.raises(MisconfiguredError, match=r"aws kms describe-key --query KeyMetadata.Arn .* --key-id alias/n"):
        iam_policy(["awskms://alias/n?region=eu-central-1"], role)


@pytest.mark.parametrize("name", ["key/*", "key/?", "alias/*", 'alias/x"', "alias/${aws:username}"])
def test_patterns_are_refused(name: str) -> None:
    with pytest.raises(MisconfiguredError):
        iam_policy([f"awskms://arn:aws:kms:eu-central-1:123456789012:{name}", f"awskms://{KEY}1"], Role.ADMIN)


def test_the_page_shows_what_the_command_prints() -> None:
    page = (Path(__file__).parents[3] / "docs" / "keys-aws.md").read_text()
    shown = [json.loads(block) for block in page.split("```json\n")[1:] for block in [block.split("```")[0]]]
    policies = [block for block in shown if "Statement" in block]
    key, alias = f"{KEY}1", ALIAS
    for role, policy in zip((Role.APP, Role.ROTATOR, Role.ADMIN), policies, strict=True):
        uris = [f"awskms://{key}"] + ([f"awskms://{alias}"] if role is Role.ADMIN else [])
        printed: Any = iam_policy(uris, role).replace(key, "arn:aws:kms:REGION:ACCOUNT:key/ID")
        assert json.loads(printed.replace(alias, "arn:aws:kms:REGION:ACCOUNT:alias/noisevault")) == policy
