"""Attribute snapshots: what a sealed attribute is given is kept as a value that cannot change in place.

SQLAlchemy notices assignments only; a list in a JSON value, or a bytearray, that changes later would never be written.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Mapper

from vault.mapping.declared_type import Conversion, snapshot
from vault.mapping.sealed_column import Declaration

__all__ = ["snapshot_attributes"]


def snapshot_attributes(mapper: Mapper[Any], class_: type[Any]) -> None:
    """Listen to what gives a mapper's sealed attributes their values, where those could change."""
    kept: dict[str, Conversion] = {}
    for attribute in mapper.column_attrs:
        kind = attribute.columns[0].type
        keep = snapshot(kind.stored) if isinstance(kind, Declaration) else None
        if keep is not None:
            kept[attribute.key] = keep
            _listen(getattr(class_, attribute.key), keep)
    if kept:
        event.listen(class_, "refresh", _of_refreshed(kept), raw=True)


def _listen(attribute: Any, keep: Conversion) -> None:
    def assigned(_target: Any, value: Any, _old: Any, _initiator: Any) -> Any:
        return keep(value)

    event.listen(attribute, "set", assigned, retval=True)


def _of_refreshed(kept: Mapping[str, Conversion]) -> Any:
    def refreshed(state: Any, _context: Any, names: Collection[str] | None) -> None:
        """An update() statement has set values in the objects that it matched, which is no assignment."""
        held = state.dict
        for name, keep in kept.items():
            if name in held and (names is None or name in names):
                held[name] = keep(held[name])

    return refreshed
