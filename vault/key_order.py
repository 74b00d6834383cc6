"""Key order: which rows come after a primary key, so that a table is walked in pages without OFFSET."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, or_

__all__ = ["after_key"]


def after_key(keys: "Iterable[Column[Any]]", last: Sequence[Any]) -> ColumnElement[bool]:
    """Whether a row's primary key, of the columns keys, comes after `last`, column by column."""
    columns = list(keys)
    alternatives = []
    for depth, (column, value) in enumerate(zip(columns, last, strict=True)):
        same_before = [k == v for k, v in zip(columns[:depth], last[:depth], strict=True)]
        alternatives.append(and_(*same_before, column > value))
    return or_(*alternatives)
