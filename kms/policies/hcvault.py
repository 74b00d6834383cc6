"""Transit policy: what a role may do with one Transit key, in the HCL of Vault and OpenBao."""

import re
from typing import Final

from kms.errors import MisconfiguredError
from kms.policies.role import Role
from kms.providers.hcvault_address import TransitAddress

__all__ = ["transit_policy"]

# In a policy "*", "+" and "{{" are patterns; quotes and line breaks end the path. Nothing that needs escaping is taken.
_PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_NAMESPACE: Final = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")

# "update" alone on encrypt: "create" would let a misspelt key be made, by whoever is to use keys only.
_UPDATE: Final = 'capabilities = ["update"]'
_READ: Final = 'capabilities = ["read"]'
_DELETE: Final = 'capabilities = ["delete"]'
_DENY: Final = 'capabilities = ["deny"]'
# The Transit key takes no other parameters from its administrator: it stays derived and can never be made exportable.
_MAKE: Final = """\
capabilities = ["create", "read", "update", "delete"]
  allowed_parameters = {
    "derived"            = [true, "true"]
    "type"               = ["aes256-gcm96"]
    "auto_rotate_period" = []
  }"""
_CONFIGURE: Final = """\
capabilities = ["update"]
  allowed_parameters = {
    "min_decryption_version" = []
    "min_encryption_version" = []
    "deletion_allowed"       = []
    "auto_rotate_period"     = []
  }"""

# Path below the mount, and what is allowed there. A "deny" holds against any other policy of the same login.
RULES: Final[dict[Role, tuple[tuple[str, str], ...]]] = {
    Role.APP: (("decrypt/{key}", _UPDATE),),
    Role.ROTATOR: (
        ("keys/{key}", _READ),
        ("encrypt/{key}", _UPDATE),
        ("decrypt/{key}", _UPDATE),
        ("rewrap/{key}", _UPDATE),
    ),
    Role.ADMIN: (
        ("keys/{key}", _MAKE),
        ("keys/{key}/rotate", _UPDATE),
        ("keys/{key}/config", _CONFIGURE),
        ("keys/{key}/trim", _UPDATE),
        ("keys/{key}/soft-delete", _DELETE),
        ("keys/{key}/soft-delete-restore", _UPDATE),
        ("decrypt/{key}", _DENY),
        ("export/encryption-key/{key}", _DENY),
        ("backup/{key}", _DENY),
    ),
}
# A login renews its token, and looks it up to tell a token that ended from a policy that refuses.
OF_THE_LOGIN: Final = (("auth/token/renew-self", _UPDATE), ("auth/token/lookup-self", _READ))


def transit_policy(uri: str, role: Role, namespace: str | None = None) -> str:
    """The policy of a role for the key that hcvault://HOST:PORT/MOUNT/keys/NAME names.

    namespace: where the mount is and the policy belongs; its paths are below it. Raises: MisconfiguredError.
    """
    space = (namespace or "").strip("/")
    if space and not _NAMESPACE.fullmatch(space):
        raise MisconfiguredError("a namespace is written in letters, digits, '_', '-' and '/': this one is not")
    address = TransitAddress.parse(uri, namespace=space)
    rules = [(f"{address.mount}/{path.format(key=address.key)}", allowed) for path, allowed in RULES[role]]
    where = f"-namespace={space} " if space else ""
    return "\n".join(
        (
            f"# NoiseVault's role {role} for {address.kek}",
            f"# bao policy write {where}noisevault-{role} FILE",
            *(_stanza(path, allowed) for path, allowed in (*rules, *OF_THE_LOGIN)),
        )
    )


def _stanza(path: str, allowed: str) -> str:
    """One path, exactly. Raises: MisconfiguredError for a path that would be read as a pattern or break out."""
    if not _PATH.fullmatch(path):
        raise MisconfiguredError("mount and key are named by letters, digits, '_', '-' and '.': others are patterns")
    return f'path "{path}" {{\n  {allowed}\n}}'
