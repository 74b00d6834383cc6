"""AWS KMS address: which key or alias of which region an awskms URI names, in one canonical spelling."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from kms.errors import CannotUnwrapError, MisconfiguredError
from kms.providers.awskms_arn import KeyArn

__all__ = ["AwsKmsAddress"]

EXAMPLES: Final = (
    "awskms://arn:aws:kms:REGION:ACCOUNT:key/ID, awskms://arn:aws:kms:REGION:ACCOUNT:alias/NAME"
    " or awskms://alias/NAME?region=REGION"
)
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]{1,2}")
_ALIAS: Final = re.compile(r"alias/[A-Za-z0-9/_-]{1,250}")
_ALIAS_ARN: Final = re.compile(
    r"arn:(?P<partition>aws(-[a-z]+)*):kms:(?P<region>[^:]*):(?P<account>[0-9]{12}):(?P<alias>alias/.+)"
)
_OF_AWS_ITSELF: Final = "alias/aws/"


@dataclass(frozen=True, slots=True)
class AwsKmsAddress:
    """uri: the canonical spelling. target: the KeyId to wrap under. region: where to ask.

    account: whose keys are used; None, for an alias without ARN, is the account of the login, whichever it is.
    """

    uri: str
    target: str
    region: str
    account: str | None

    @classmethod
    def parse(cls, uri: str) -> "AwsKmsAddress":
        """Read awskms:// and the ARN of a key or an alias, or alias/NAME?region=REGION. No region is ever assumed.

        Raises: MisconfiguredError, which shows what to write.
        """
        scheme, colon, rest = uri.strip().partition("://")
        if not colon or scheme.lower() != "awskms":
            raise MisconfiguredError(f"an AWS KMS key is named like {EXAMPLES}")
        name, _, query = rest.partition("?")
        if "@" in name:
            raise MisconfiguredError("no login goes into the address: AWS credentials come from their default chain")
        if "#" in rest:
            raise MisconfiguredError(f"nothing follows the key's name but ?region=: write {EXAMPLES}")
        return _arn(name, rest) if name.startswith("arn:") else _alias_of_login(name, query)

    def key_id_of(self, kek: str) -> str:
        """The KeyId that pins a request to the KEK that a stored row names, and to our region and account.

        Where the address says no account, a bare key id makes KMS look among the keys of the login's account only.
        Raises: CannotUnwrapError if the row was wrapped elsewhere.
        """
        arn = KeyArn.of_kek(kek)
        if arn is None:
            raise CannotUnwrapError(f"wrapped by {kek}, which is no key of AWS KMS: open it with the right key URI")
        if arn.region != self.region or self.account not in {None, arn.account}:
            raise CannotUnwrapError(
                f"wrapped by {kek}, in another region or account than {self.uri}: open it with a URI of that region"
            )
        return arn.key_id if self.account is None else str(arn)


def _arn(name: str, rest: str) -> AwsKmsAddress:
    if rest != name:
        raise MisconfiguredError("an ARN says its region itself: nothing follows it")
    key = KeyArn.parse(name)
    if key is not None:
        return AwsKmsAddress(key.kek, str(key), key.region, key.account)
    alias = _ALIAS_ARN.fullmatch(name)
    if alias is None:
        raise MisconfiguredError(f"this is not the ARN of a key or an alias: write {EXAMPLES}")
    _check_alias(alias["alias"])
    return AwsKmsAddress(f"awskms://{name}", name, _checked_region(alias["region"]), alias["account"])


def _alias_of_login(name: str, query: str) -> AwsKmsAddress:
    _check_alias(name)
    given = parse_qsl(query, keep_blank_values=True)
    if not given:
        raise MisconfiguredError(f"the region is missing, and none is assumed: write awskms://{name}?region=REGION")
    if [key for key, _ in given] != ["region"]:
        raise MisconfiguredError(f"an alias is followed by ?region= and nothing else: write {EXAMPLES}")
    region = _checked_region(given[0][1])
    return AwsKmsAddress(f"awskms://{name}?region={region}", name, region, None)


def _check_alias(alias: str) -> None:
    if not _ALIAS.fullmatch(alias):
        raise MisconfiguredError(f"this is not the name of a key: write {EXAMPLES}")
    if alias.startswith(_OF_AWS_ITSELF):
        raise MisconfiguredError("keys below alias/aws/ belong to AWS services: create a key of your own")


def _checked_region(region: str) -> str:
    if not _REGION.fullmatch(region):
        raise MisconfiguredError(f"the region is not one like eu-central-1: write {EXAMPLES}")
    return region
