"""Unbound field: a sealed column that a dataset opens although it does not bind the dataset's unit.

Whoever can write the database could copy one sealed row under many forged units, and read it off an average.
"""

from typing import NamedTuple

from vault.policy.document import Policy


class UnboundField(NamedTuple):
    """Where it is."""

    dataset: str
    table: str
    column: str


def unbound_fields(policy: Policy) -> tuple[UnboundField, ...]:
    """The unbound fields of all datasets that give no `accept_unbound`: `noisevault check` refuses them.

    Any column of a dataset's table may be filtered by, so that every sealed one counts as opened.
    """
    return tuple(
        UnboundField(name, dataset.table, column)
        for name, dataset in policy.dataset.items()
        if dataset.accept_unbound is None
        for column in policy.table[dataset.table].sealed
        if dataset.unit not in policy.table[dataset.table].column[column].bind
    )
