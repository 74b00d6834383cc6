"""Role: who asks a key service for something, by the work that is theirs."""

from enum import StrEnum

__all__ = ["Role"]


class Role(StrEnum):
    """Three logins, none of which contains another's whole work."""

    APP = "app"  # services: unwrap data keys, make none
    ROTATOR = "rotator"  # operators: make, rotate, check and rewrap data keys
    ADMIN = "admin"  # makes, rotates, configures and deletes the key-encryption key, and uses it for nothing
