"""Before a KEK is destroyed: who else may need it, by whatever name."""

import pytest

from kms.same_kek import may_be_same_kek

ID = "11111111-2222-3333-4444-555555555555"
ARN = f"awskms://arn:aws:kms:eu-central-1:123456789012:key/{ID}"
MRK = "awskms://arn:aws:kms:{}:123456789012:key/mrk-" + "0" * 32


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("local:aa", "local:aa", True),
        ("local:aa", "local:ab", False),
        ("hcvault://h:8200/transit/keys/k", "hcvault://other:8200/transit/keys/k", True),
        ("hcvault://h:8200/transit/keys/k", "hcvault://h:8200/transit/keys/kk", False),
        (ARN, ARN, True),
        (ARN, ARN.replace("1111", "0000"), False),
        (MRK.format("eu-central-1"), MRK.format("us-east-1"), True),
        ("pkcs11:serial=a;id=%01;object=k", "pkcs11:serial=a;id=%01;object=renamed", True),
        ("pkcs11:serial=a;id=%01;object=k", "pkcs11:serial=b;id=%01;object=k", False),
        (ARN, "local:aa", False),
        ("pkcs11:serial=a;id=%01", "local:aa", False),
        ("somebody's own", "somebody's own", True),
        ("somebody's own", "somebody's other", False),
    ],
)
def test_rather_yes_than_no(one: str, other: str, same: bool) -> None:
    assert may_be_same_kek(one, other) == may_be_same_kek(other, one) == same
