"""Vault login: the login to Vault or OpenBao that the environment describes."""

import os
from pathlib import Path
from typing import Final

from kms.logins import AppRole, Jwt, Kubernetes, Login, TokenFile
from kms.logins.secret_line import secret_line
from kms.private_file import read_private_file
from vault.errors import PolicyError

__all__ = ["vault_login"]

LOGIN: Final = "NOISEVAULT_VAULT_LOGIN"
ROLE: Final = "NOISEVAULT_VAULT_ROLE"
FILE: Final = "NOISEVAULT_VAULT_FILE"
MOUNT: Final = "NOISEVAULT_VAULT_MOUNT"


def vault_login() -> Login | None:
    """None where NOISEVAULT_VAULT_LOGIN is not set. Raises: PolicyError, KeyFileError."""
    kind = os.environ.get(LOGIN)
    if not kind:
        return None
    if os.environ.get("VAULT_TOKEN") or os.environ.get("BAO_TOKEN"):
        raise PolicyError(f"a token and {LOGIN} are set: unset VAULT_TOKEN and BAO_TOKEN, or {LOGIN}")
    try:
        match kind:
            case "token-file":
                return TokenFile(_file())
            case "approle":
                file = _file()
                secret_id = secret_line(read_private_file(file, "secret id file"), file, "secret id file")
                return AppRole(_role(), secret_id, _mount("approle"))
            case "jwt":
                return Jwt(_role(), _file(), _mount("jwt"))
            case "kubernetes":
                return Kubernetes(_role(), _file(), _mount("kubernetes"))
    except ValueError as error:
        raise PolicyError(f"{MOUNT}: {error}") from None
    raise PolicyError(f"{LOGIN} is one of token-file, approle, jwt and kubernetes, not {kind!r}")


def _file() -> Path:
    return Path(_needed(FILE, "the file of the token, secret id or JWT"))


def _role() -> str:
    return _needed(ROLE, "the role id of an AppRole, or the role's name")


def _mount(usual: str) -> str:
    return os.environ.get(MOUNT) or usual


def _needed(name: str, meaning: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise PolicyError(f"{LOGIN} is set: set {name} too, {meaning}")
    return value
