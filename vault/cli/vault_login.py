"""Vault login: the login to Vault or OpenBao that the environment describes."""

import os
from collections.abc import Mapping
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


def vault_login(environment: Mapping[str, str] = os.environ) -> Login | None:
    """None where NOISEVAULT_VAULT_LOGIN is not set. Raises: PolicyError, KeyFileError."""
    kind = environment.get(LOGIN)
    if not kind:
        return None
    if environment.get("VAULT_TOKEN") or environment.get("BAO_TOKEN"):
        raise PolicyError(f"a token and {LOGIN} are set: unset VAULT_TOKEN and BAO_TOKEN, or {LOGIN}")
    try:
        match kind:
            case "token-file":
                return TokenFile(_file(environment))
            case "approle":
                file = _file(environment)
                secret_id = secret_line(read_private_file(file, "secret id file"), file, "secret id file")
                return AppRole(_role(environment), secret_id, _mount(environment, "approle"))
            case "jwt":
                return Jwt(_role(environment), _file(environment), _mount(environment, "jwt"))
            case "kubernetes":
                return Kubernetes(_role(environment), _file(environment), _mount(environment, "kubernetes"))
    except ValueError as error:
        raise PolicyError(f"{MOUNT}: {error}") from None
    raise PolicyError(f"{LOGIN} is one of token-file, approle, jwt and kubernetes, not {kind!r}")


def _file(environment: Mapping[str, str]) -> Path:
    return Path(_needed(environment, FILE, "the file of the token, secret id or JWT"))


def _role(environment: Mapping[str, str]) -> str:
    return _needed(environment, ROLE, "the role id of an AppRole, or the role's name")


def _mount(environment: Mapping[str, str], usual: str) -> str:
    return environment.get(MOUNT) or usual


def _needed(environment: Mapping[str, str], name: str, meaning: str) -> str:
    value = environment.get(name)
    if not value:
        raise PolicyError(f"{LOGIN} is set: set {name} too, {meaning}")
    return value
