"""Renewal: what one page of rows becomes under the active key, worked out in memory, a column at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping

from kms import Purpose
from vault.errors import FieldError
from vault.field import Field
from vault.scan import key_id_of


@dataclass(frozen=True, slots=True, repr=False)
class Renewal:
    """One row that is due: the row as it was read, and the new stored bytes of the columns that change."""

    row: RowMapping
    renewed: Mapping[str, bytes]


def is_stale(active: bytes, stored: object) -> bool:
    """Whether a stored value is under another key than the active one; NULL never is."""
    return stored is not None and key_id_of(stored) != active


def renew(fields: Mapping[str, Field], page: Sequence[RowMapping]) -> tuple[list[Renewal], list[RowMapping]]:
    """The rows of the page that are due, and those of which a value does not open."""
    renewed: list[dict[str, bytes]] = [{} for _ in page]
    unreadable: set[int] = set()
    for name, field in fields.items():
        active = field.keyring.sealing(Purpose.DATA).key.key_id
        due = [at for at, row in enumerate(page) if is_stale(active, row[name])]
        rows: list[Mapping[str, Any]] = [{b.name: page[at][b.name] for b in field.definition.bound} for at in due]
        values = field.open_many([page[at][name] for at in due], rows, on_error="mark")
        opened = [at for at, value in enumerate(values) if not isinstance(value, FieldError)]
        unreadable.update(due[at] for at in set(range(len(due))) - set(opened))
        sealed = field.seal_many([values[at] for at in opened], [rows[at] for at in opened])
        for at, new in zip(opened, sealed, strict=True):
            if new is not None:
                renewed[due[at]][name] = new
    changes = [
        Renewal(row, new)
        for at, (row, new) in enumerate(zip(page, renewed, strict=True))
        if new and at not in unreadable
    ]
    return changes, [page[at] for at in sorted(unreadable)]
