"""Mode: which of its two columns, the plaintext one and the sealed one, a migrating field is written to and read from.

plaintext            write plaintext          read plaintext
dual-read-plaintext  write both               read plaintext      backfill here
dual-read-sealed     write both               read sealed
sealed-only          write sealed             read sealed         then null the plaintext, and drop it
"""

from enum import Enum
from typing import Final, Protocol

from vault.definitions.definition import FieldDefinition

__all__ = ["SEALED_ONLY", "Mode", "Modes"]


class Mode(Enum):
    """In the order in which a field is sealed; it is opened again in the other. One step at a time, a lease apart."""

    PLAINTEXT = "plaintext"
    DUAL_READ_PLAINTEXT = "dual-read-plaintext"
    DUAL_READ_SEALED = "dual-read-sealed"
    SEALED_ONLY = "sealed-only"

    @property
    def writes_plaintext(self) -> bool:
        return self is not Mode.SEALED_ONLY

    @property
    def writes_sealed(self) -> bool:
        return self is not Mode.PLAINTEXT

    @property
    def reads_sealed(self) -> bool:
        return self in {Mode.DUAL_READ_SEALED, Mode.SEALED_ONLY}

    def is_beside(self, other: "Mode") -> bool:
        """Whether one step leads from one to the other."""
        order = list(Mode)
        return abs(order.index(self) - order.index(other)) == 1


class Modes(Protocol):
    """Tells the modes of migrating fields, as they are recorded, at most a sealing lease late."""

    @property
    def changes(self) -> int:
        """How many changes have been seen: what was compiled before the last of them is compiled anew."""
        ...

    def mode(self, definition: FieldDefinition) -> Mode:
        """The mode in force. Raises: KmsError where the record was not read within the lease and cannot be."""
        ...

    def may_run(self, definition: FieldDefinition, mode: Mode) -> bool:
        """Whether a statement that was compiled in mode may run: in the mode in force, and in the one before it for
        as long as its lease lasts, within which nobody is two steps ahead.
        """
        ...


class SealedOnly:
    """Where no field is migrating, or none can be."""

    changes = 0

    def mode(self, definition: FieldDefinition) -> Mode:  # noqa: ARG002
        return Mode.SEALED_ONLY

    def may_run(self, definition: FieldDefinition, mode: Mode) -> bool:  # noqa: ARG002
        return mode is Mode.SEALED_ONLY


SEALED_ONLY: Final[Modes] = SealedOnly()
