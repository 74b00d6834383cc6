"""Policy: noisevault.toml as one frozen, checked value."""

from vault.policy.dataset import Bounds, DatasetPolicy, GroupLabel
from vault.policy.document import Policy
from vault.policy.faults import PolicyFaultsError
from vault.policy.storage import Storage
from vault.policy.table import ColumnPolicy, ColumnType, CompoundPolicy, IndexPolicy, TablePolicy
from vault.policy.unbound import UnboundField, unbound_fields

__all__ = [
    "Bounds",
    "ColumnPolicy",
    "ColumnType",
    "CompoundPolicy",
    "DatasetPolicy",
    "GroupLabel",
    "IndexPolicy",
    "Policy",
    "PolicyFaultsError",
    "Storage",
    "TablePolicy",
    "UnboundField",
    "unbound_fields",
]
