"""Generations: a field's definitions by generation, those that are recorded later learnt when a value names them."""

import threading
from collections.abc import Callable, Mapping

from kms.fork import forget_in_child
from kms.lease import Clock
from kms.unknown_ids import UnknownIds
from vault.definitions.definition import FieldDefinition

__all__ = ["Generations"]


class Generations:
    """Of one field. Shared by threads; a value names its generation before it is authenticated, so that what is not
    recorded is asked for at most once in five seconds.
    """

    def __init__(
        self,
        known: Mapping[int, FieldDefinition],
        recorded: Callable[[], Mapping[int, FieldDefinition]],
        clock: Clock,
    ) -> None:
        """recorded: reads all that are recorded now."""
        self._known = dict(known)
        self._recorded = recorded
        self._unknown = UnknownIds(clock)
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._reading = threading.Lock()

    def known(self) -> list[FieldDefinition]:
        """By generation."""
        return [definition for _, definition in sorted(self._known.copy().items())]

    def find(self, generation: int) -> FieldDefinition | None:
        """The definition; however many threads miss one, one reads and the others wait. Raises: as recorded."""
        found = self._known.get(generation)
        name = bytes((generation,))
        if found is not None or self._unknown.is_known_unknown(name):
            return found
        with self._reading:
            if generation not in self._known and not self._unknown.is_known_unknown(name):
                for number, definition in self._recorded().items():
                    self._known.setdefault(number, definition)
                if generation not in self._known:
                    self._unknown.remember(name)
            return self._known.get(generation)
