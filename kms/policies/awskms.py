"""AWS KMS policy: what a role may do with named keys, in the JSON of AWS IAM."""

import json
from collections.abc import Sequence
from typing import Any, Final

from kms.errors import MisconfiguredError
from kms.policies.role import Role
from kms.providers.awskms_address import AwsKmsAddress
from kms.providers.awskms_arn import KeyArn
from kms.providers.awskms_context import FORMAT

__all__ = ["iam_policy"]

IAM_VERSION: Final = "2012-10-17"  # of the policy language
USES: Final = {
    Role.APP: ["kms:Decrypt"],
    Role.ROTATOR: ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo"],
}
# Without kms:PutKeyPolicy and kms:CreateGrant, by which the administrator could give away the use of the key.
KEEPS_KEYS: Final = [
    "kms:DescribeKey",
    "kms:EnableKeyRotation",
    "kms:RotateKeyOnDemand",
    "kms:ListKeyRotations",
    "kms:DisableKey",
    "kms:EnableKey",
    "kms:ScheduleKeyDeletion",
    "kms:CancelKeyDeletion",
    "kms:GetKeyPolicy",
]
MOVES_ALIASES: Final = ["kms:CreateAlias", "kms:UpdateAlias"]
# A "Deny" holds against key policies too, such as that of a key which the administrator makes.
USES_NONE: Final = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:CreateGrant"]


def iam_policy(uris: Sequence[str], role: Role) -> str:
    """The policy of a role for the keys that awskms URIs name, and for the administrator their aliases.

    Raises: MisconfiguredError if no URI names a key: an alias names another one tomorrow.
    """
    addresses = [AwsKmsAddress.parse(uri) for uri in uris]
    keys = [key for address in addresses if (key := KeyArn.parse(address.target)) is not None]
    aliases = [address for address in addresses if KeyArn.parse(address.target) is None]
    if not keys:
        raise MisconfiguredError(
            f"{aliases[0].uri} is an alias, which names another key tomorrow, and a policy names keys: add --kek"
            f" awskms://ARN with the key's ARN, which is told by: aws kms describe-key --query KeyMetadata.Arn --output"
            f" text --key-id {aliases[0].target}"
        )
    named = [str(key) for key in dict.fromkeys(keys)]
    if role is Role.ADMIN:
        return _json(_administrators(named, [_alias_arn(alias, keys[0]) for alias in aliases]))
    return _json(
        {
            "Effect": "Allow",
            "Action": _one_or_all(USES[role]),
            "Resource": _one_or_all(named),
            "Condition": {"StringEquals": {"kms:EncryptionContext:noisevault": FORMAT}},
        }
    )


def _administrators(keys: list[str], aliases: list[str]) -> tuple[dict[str, Any], ...]:
    return (
        {"Effect": "Allow", "Action": ["kms:CreateKey", "kms:ListAliases"], "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": KEEPS_KEYS + (MOVES_ALIASES if aliases else []),
            "Resource": _one_or_all([*keys, *aliases]),
        },
        {"Effect": "Deny", "Action": USES_NONE, "Resource": "*"},
    )


def _alias_arn(alias: AwsKmsAddress, key: KeyArn) -> str:
    """An alias without an account is one of the login's account, as the key is."""
    if alias.account is not None:
        return alias.target
    return f"arn:{key.partition}:kms:{alias.region}:{key.account}:{alias.target}"


def _one_or_all(names: list[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else names


def _json(*given: Any) -> str:
    statements = [one for part in given for one in (part if isinstance(part, tuple) else (part,))]
    return json.dumps({"Version": IAM_VERSION, "Statement": statements}, indent=2)
