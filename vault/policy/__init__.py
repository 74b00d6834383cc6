"""Policy: noisevault.toml as one frozen, checked value."""

from vault.policy.bounds import Bounds
from vault.policy.dataset import DatasetPolicy, GroupLabel
from vault.policy.declared_expression import DeclaredExpression
from vault.policy.document import Policy
from vault.policy.faults import PolicyFaultsError
from vault.policy.storage import Storage
from vault.policy.table import ColumnPolicy, ColumnType, CompoundPolicy, IndexPolicy, TablePolicy
from vault.policy.unbound import UnboundField, unbound_fields
from vault.policy.unknown_groups import UnknownGroups

__all__ = [
    "Bounds",
    "ColumnPolicy",
    "ColumnType",
    "CompoundPolicy",
    "DatasetPolicy",
    "DeclaredExpression",
    "GroupLabel",
    "IndexPolicy",
    "Policy",
    "PolicyFaultsError",
    "Storage",
    "TablePolicy",
    "UnboundField",
    "UnknownGroups",
    "unbound_fields",
]
