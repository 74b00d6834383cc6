"""Policies: what a key service is told to allow each role, in the service's own language."""

from kms.policies.role import Role

__all__ = ["Role"]
