"""Auth mount: the path of an auth method, below auth/."""

import re
from typing import Final

__all__ = ["login_path", "require_auth_mount"]

_MOUNT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def require_auth_mount(mount: str) -> None:
    """Raises: ValueError if the mount is not a plain path, which says what to write."""
    if not _MOUNT.fullmatch(mount) or mount.startswith("auth/"):
        raise ValueError("the mount of an auth method is written without 'auth/', as in 'approle' or 'team/approle'")


def login_path(mount: str) -> str:
    """Where a login is sent."""
    return f"auth/{mount}/login"
