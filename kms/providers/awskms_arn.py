"""Key ARN: the one name of an AWS KMS key that says whose it is and where it lies, and that never moves."""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["KeyArn"]

SCHEME: Final = "awskms://"
_KEY_ARN: Final = re.compile(
    r"arn:(?P<partition>aws(?:-[a-z]+)*):kms:(?P<region>[a-z]{2,}(?:-[a-z]+)+-[0-9]{1,2}):(?P<account>[0-9]{12}):key/"
    r"(?P<key_id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"
)


@dataclass(frozen=True, slots=True)
class KeyArn:
    """arn:PARTITION:kms:REGION:ACCOUNT:key/KEY_ID"""

    partition: str
    region: str
    account: str
    key_id: str

    @classmethod
    def parse(cls, text: str) -> "KeyArn | None":
        """The key that an ARN names, or None for anything but the ARN of a key, aliases included."""
        found = _KEY_ARN.fullmatch(text)
        return None if found is None else cls(**found.groupdict())

    @classmethod
    def of_kek(cls, kek: str) -> "KeyArn | None":
        """The key that a stored row names as its KEK, or None if it was never one of AWS KMS."""
        return cls.parse(kek.removeprefix(SCHEME)) if kek.startswith(SCHEME) else None

    @property
    def kek(self) -> str:
        """The identity stored with what the key wraps: the ARN behind the scheme that opens it."""
        return f"{SCHEME}{self}"

    def __str__(self) -> str:
        return f"arn:{self.partition}:kms:{self.region}:{self.account}:key/{self.key_id}"
