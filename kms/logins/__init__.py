"""Logins: how a process gets its token of Vault or OpenBao, each described by a frozen value."""

from kms.logins.app_role import AppRole
from kms.logins.jwt import Jwt
from kms.logins.kubernetes import Kubernetes
from kms.logins.login import Login
from kms.logins.token import Token
from kms.logins.token_file import TokenFile
from kms.logins.wrapped_secret_id import WrappedSecretId

__all__ = ["AppRole", "Jwt", "Kubernetes", "Login", "Token", "TokenFile", "WrappedSecretId"]
