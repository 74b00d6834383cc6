"""Access policy: the least that a role needs of the service that holds a key, ready to be loaded there."""

from collections.abc import Sequence
from typing import Final

from kms.errors import MisconfiguredError, UnknownProviderError
from kms.open_provider import SCHEMES
from kms.policies.role import Role

__all__ = ["access_policy"]

# What holds these keys has no roles: who may reach it may do everything. So there is nothing to print, and no script
# stores a sentence as a policy.
_NO_POLICIES: Final = {
    "local": "a key file knows no roles: who can read it has them all. Restrict the file instead: mode 0600, owned by"
    " the user of the service (chmod 600, chown), on another disk and in other backups than the database; and grant"
    " services no more than SELECT on noisevault_key, so that only operators make keys",
    "pkcs11": "a token knows no roles: who has its PIN has them all. Restrict these instead: the PIN, in a file of mode"
    " 0600 owned by the user of the service, on a token that holds no other key; the key's attributes, CKA_SENSITIVE"
    " true and CKA_EXTRACTABLE, CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE, CKA_WRAP and CKA_UNWRAP false; and"
    " the security officer's PIN, which the administrator alone has",
}


def access_policy(uris: Sequence[str], role: Role, *, namespace: str | None = None) -> str:
    """The policy of a role for the keys that the URIs name: HCL for hcvault, IAM's JSON for awskms.

    uris: of one scheme; several while data keys move from one key to another. namespace: of Vault or OpenBao.
    Raises: MisconfiguredError, for keys that have no policies too, saying what to restrict; UnknownProviderError.
    """
    schemes = {uri.strip().partition(":")[0].lower() for uri in uris}
    if len(schemes) != 1:
        raise MisconfiguredError("a policy is for keys of one service: ask for each service on its own")
    (scheme,) = schemes
    match scheme:
        case "hcvault":
            from kms.policies.hcvault import transit_policy

            return "\n\n".join(transit_policy(uri, role, namespace) for uri in uris)
        case "awskms":
            from kms.policies.awskms import iam_policy

            return iam_policy(uris, role)
        case "local" | "pkcs11":
            raise MisconfiguredError(_NO_POLICIES[scheme])
        case _:
            raise UnknownProviderError(f"no provider for {scheme!r}: write {' or '.join(SCHEMES)}")
