"""Same KEK: whether two identities that rows record may be of one key-encryption key."""

from kms.providers.awskms_arn import KeyArn
from kms.providers.hcvault_address import same_path
from kms.providers.pkcs11_address import may_be_one_key

__all__ = ["may_be_same_kek"]


def may_be_same_kek(one: str, other: str) -> bool:
    """Rather yes than no: before a KEK is destroyed, who else needs it must not be overlooked.

    One Transit key goes by every name of its server, a key on a token can get another id or label, and the replicas
    of a multi-Region key have one key id.
    """
    arns = KeyArn.of_kek(one), KeyArn.of_kek(other)
    if arns[0] is not None and arns[1] is not None:
        return arns[0].key_id == arns[1].key_id
    if one.startswith("pkcs11:") and other.startswith("pkcs11:"):
        return one == other or may_be_one_key(one, other)
    return one == other or same_path(one, other)
