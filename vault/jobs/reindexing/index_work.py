"""Index work: the work of a job that fills, or empties, one slot of an index in one table."""

from collections.abc import Callable, Sequence

from vault.changeover.phase import Subject
from vault.changeover.store import ChangeoverStore
from vault.errors import ChangeoverError
from vault.jobs.reindexing.empty_slots import EmptySlots
from vault.jobs.reindexing.index_member import Member
from vault.jobs.reindexing.reindex import Reindex

__all__ = ["emptying", "filling", "require_left"]


def filling(members: Sequence[Member], slot: str, refresh: Callable[[], None]) -> Reindex:
    """members: of one table. refresh: asks the key store anew. Raises: ChangeoverError, KmsError."""
    moves = [member.move(slot) for member in members]
    fields = {name: member.field(name) for member in members for name in member.columns}
    compounds = {one.index: one.compound() for one in members if one.compound is not None}
    return Reindex(members[0].table, moves, fields, compounds, refresh, members[0].rows)


def emptying(members: Sequence[Member], slot: str, left: Callable[[], None]) -> EmptySlots:
    """members: of one table. left: raises where the slot is written again."""
    return EmptySlots(members[0].table, [member.move(slot) for member in members], left)


def require_left(changeovers: ChangeoverStore, subject: Subject, slot: str) -> None:
    """While rows are emptied. Raises: ChangeoverError where somebody has gone back, so that it is written again.

    Within a lease after that it is not asked yet, and a batch takes less.
    """
    now = changeovers.find(subject)
    if now is None or slot in now.written:
        raise ChangeoverError(f"{subject.label}: slot {slot} is not left any more: somebody changed it")
