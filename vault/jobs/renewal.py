"""Renewal: what one page of rows becomes under the active key and generation, worked out in memory by the column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping

from kms import Purpose
from vault.envelope import header
from vault.errors import FieldError
from vault.field import Field
from vault.scan import key_id_of


@dataclass(frozen=True, slots=True, repr=False)
class Renewal:
    """One row that is due: the row as it was read, and the new stored bytes of the columns that change."""

    row: RowMapping
    renewed: Mapping[str, bytes]


def current_header(field: Field) -> bytes:
    """How what the field seals now begins: its generation and the active key."""
    return header(field.definition.generation, field.keyring.sealing(Purpose.DATA).key.key_id)


def is_stale(current: bytes, stored: Any) -> bool:
    """Whether a stored value is under another key than the active one, or of an older generation; NULL never is."""
    if stored is None:
        return False
    return key_id_of(stored) != current[2:] or stored[1] < current[1]


def renew(fields: Mapping[str, Field], page: Sequence[RowMapping]) -> tuple[list[Renewal], list[RowMapping]]:
    """The rows of the page that are due, and those of which a value does not open."""
    renewed: list[dict[str, bytes]] = [{} for _ in page]
    unreadable: set[int] = set()
    for name, field in fields.items():
        current = current_header(field)
        due = [at for at, row in enumerate(page) if is_stale(current, row[name])]
        rows: list[Mapping[str, Any]] = [{b: page[at][b] for b in field.bound_names if b in page[at]} for at in due]
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
