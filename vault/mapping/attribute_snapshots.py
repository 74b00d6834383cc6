"""Attribute snapshots: what a sealed attribute is given is kept as a value that cannot change in place.

SQLAlchemy notices assignments only; a list in a JSON value, or a bytearray, that changes later would never be written.
"""

# the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Mapper

from vault.mapping.declared_type import snapshot
from vault.mapping.sealed_type import Sealed

__all__ = ["snapshot_attributes"]


def snapshot_attributes(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Listen to the assignments of a mapper's sealed attributes whose values could change."""
    for attribute in mapper.column_attrs:
        kind = attribute.columns[0].type
        keep = snapshot(kind.stored) if isinstance(kind, Sealed) else None
        if keep is not None:
            _listen(getattr(class_, attribute.key), keep)


def _listen(attribute: Any, keep: Any) -> None:
    def assigned(_target: Any, value: Any, _old: Any, _initiator: Any) -> Any:
        return keep(value)

    event.listen(attribute, "set", assigned, retval=True)
