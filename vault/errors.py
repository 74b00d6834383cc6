"""Errors of the vault: each says what to do; none carries a value, a key or stored bytes.

Every error inherits SQLAlchemy's DontWrapMixin, so that it reaches the caller as it is, without a
statement and its parameters printed beside it. All of them pickle, for worker processes.
"""

from typing import Self

from sqlalchemy.exc import DontWrapMixin

__all__ = [
    "CannotOpenError",
    "ChangeoverError",
    "DefinitionChangedError",
    "DefinitionError",
    "DestroyedKeyError",
    "FieldError",
    "ImportRefusedError",
    "IndexChangedError",
    "InvalidValueError",
    "JobError",
    "JobIncompleteError",
    "JobRunningError",
    "JobTablesError",
    "KeyInUseError",
    "ModeChangedError",
    "NoSuchStepError",
    "NotClearedError",
    "NotSealedError",
    "OtherTenantError",
    "PolicyError",
    "RetiredKeyError",
    "RowBindingError",
    "SealedColumnError",
    "SealedOperatorError",
    "TenantError",
    "UnknownGenerationError",
    "UnknownKeyError",
    "VaultError",
]


class VaultError(DontWrapMixin, Exception):
    """The root of everything that the vault raises on purpose."""


class DefinitionError(VaultError):
    """A field is declared in a way that cannot work; the message names the part."""


class SealedColumnError(VaultError):
    """A statement uses a sealed column where only a plain one can stand; the message names the remedy."""


class SealedOperatorError(SealedColumnError, AttributeError):
    """An operator that a sealed column has not.

    Also an AttributeError, as SQLAlchemy's own for what a column has not: writing many rows it asks a class for each
    hybrid property, and leaves out those that work on objects only.
    """


class TenantError(VaultError):
    """No tenant is in force where one is needed, or a session is used under another than its own."""


class PolicyError(VaultError):
    """A dataset's policy is wrong, or does not allow what was asked."""


class ImportRefusedError(VaultError):
    """A file cannot be imported as it is; nothing of it was written."""


class JobError(VaultError):
    """A job cannot begin or go on; the message says why, and what to do. What it wrote so far stays."""


class JobRunningError(JobError):
    """The job is run by somebody else now, so this run leaves it to them."""

    def __init__(self, job: str, table: str) -> None:
        super().__init__(job, table)
        self.job = job
        self.table = table

    def __str__(self) -> str:
        return (
            f"{self.job} of {self.table} is run by another process now: look at it by `noisevault jobs list`, end it by"
            f" `noisevault jobs stop {self.table}`"
        )


class JobTablesError(JobError):
    """The tables that jobs keep their progress in are missing, and this role may not make them."""

    def __init__(self, ddl: str) -> None:
        super().__init__(ddl)
        self.ddl = ddl

    def __str__(self) -> str:
        return (
            "the role of this job may not create the tables noisevault_job, noisevault_quarantine and"
            " noisevault_job_part: have somebody who may run the statements below, and grant the role SELECT, INSERT,"
            " UPDATE and DELETE on them\n"
            f"{self.ddl}"
        )


class JobIncompleteError(JobError):
    """A job ended with rows that it could not bring to their new state; the message counts them."""

    def __init__(self, table: str, remaining: int, failed: int) -> None:
        super().__init__(table, remaining, failed)
        self.table = table
        self.remaining = remaining
        self.failed = failed

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.remaining} rows are not done: run the job again; {self.failed} rows do not open: see"
            " table noisevault_quarantine"
        )


class KeyInUseError(VaultError):
    """A key that is to be retired or destroyed is still needed; the message says by what, and what to do."""


class NotClearedError(VaultError):
    """A key is not retired or destroyed yet: other databases of its keyring may need it.

    databases: the name and the place of each.
    """

    def __init__(self, key_id: bytes, databases: tuple[tuple[str, str], ...]) -> None:
        super().__init__(key_id, databases)
        self.key_id = key_id
        self.databases = databases

    def __str__(self) -> str:
        places = ", ".join(place for _, place in self.databases)
        return f"key {self.key_id.hex()} may be needed in {places}: clear each by the policy that names it first"


class ChangeoverError(VaultError):
    """A changeover cannot begin, go on or end as it was asked to; the message says what it waits for."""


class NoSuchStepError(ChangeoverError, ValueError):
    """A changeover is not in a phase from which the step leads: it goes one at a time, or somebody else moved it."""


class ModeChangedError(VaultError):
    """A statement was compiled in a mode of a migrating field that has ended since: the same statement runs anew."""

    def __init__(self, table: str, column: str, mode: str) -> None:
        super().__init__(table, column, mode)
        self.table = table
        self.column = column

    def __str__(self) -> str:
        table, column, mode = self.args
        return f"the statement was compiled while {table}.{column} was in mode {mode}, which has ended: run it again"


class DefinitionChangedError(VaultError):
    """A field is defined otherwise than its data was written; the message says how and what to run."""

    def __init__(self, table: str, column: str, difference: str, remedy: str) -> None:
        super().__init__(table, column, difference, remedy)
        self.table = table
        self.column = column

    def __str__(self) -> str:
        table, column, difference, remedy = self.args
        return f"{table}.{column} is not defined as its data was written: {difference}; {remedy}"


class IndexChangedError(VaultError):
    """An index over or shared by columns is defined otherwise than its terms were made; the message says what to do."""

    def __init__(self, label: str, difference: str, remedy: str) -> None:
        super().__init__(label, difference, remedy)
        self.label = label

    def __str__(self) -> str:
        label, difference, remedy = self.args
        return f"{label} is not defined as its terms were made: {difference}; {remedy}"


class FieldError(VaultError):
    """A failure at one field. table, column: its context names, empty until the field adds them.

    row: the place in a batch, counted from 0. row_key: the primary key, where the caller knew it.
    """

    def __init__(
        self, reason: str, table: str = "", column: str = "", row: int | None = None, row_key: object = None
    ) -> None:
        super().__init__(reason, table, column, row, row_key)
        self.reason = reason
        self.table = table
        self.column = column
        self.row = row
        self.row_key = row_key

    def at(self, table: str, column: str, row: int | None = None, row_key: object = None) -> Self:
        """This same error, with its place filled in: to be raised again without a chain."""
        self.table, self.column, self.row, self.row_key = table, column, row, row_key
        return self

    def __str__(self) -> str:
        place = f"{self.table}.{self.column}" if self.table else "a sealed field"
        if self.row is not None:
            place += f", row {self.row} of the batch (the first is 0)"
        if self.row_key is not None:
            place += f", row key {self.row_key!r}"
        return f"{place}: {self.reason}"


class InvalidValueError(FieldError):
    """The field cannot hold, or cannot index, this value. The reason names the kind of value, never the value."""


class RowBindingError(FieldError):
    """A row-bound field was used without the columns that it is bound to, or with NULL in one."""


class NotSealedError(FieldError):
    """The bytes are not a sealed value: their format byte, length or type is another's."""


class OtherTenantError(FieldError):
    """The value, or its row, is another tenant's than the one that is asked for."""


class CannotOpenError(FieldError):
    """Wrong key, row or field, or changed bytes: the caller is not told which. key_id: 8 hex digits."""

    REASON = "does not authenticate under key {}: other row, column or table, other key, or changed bytes"

    def __init__(self, table: str, column: str, key_id: str, row: int | None = None, row_key: object = None) -> None:
        super().__init__(self.REASON.format(key_id), table, column, row, row_key)
        self.args = (table, column, key_id, row, row_key)
        self.key_id = key_id


class UnknownGenerationError(CannotOpenError):
    """The value names a definition generation of the field that this process does not know."""

    REASON = (
        "is sealed under key {} by a generation of its definition that is not recorded in the"
        " key store: the store is of another day than the data, or the bytes were changed"
    )


class UnknownKeyError(FieldError):
    """The value, or an index slot, names a key that the keyring has not. key_id: 8 hex digits."""

    REASON = "names key {}, which is not in the keyring: written under another keyring, or changed bytes"

    def __init__(self, table: str, column: str, key_id: str, row: int | None = None, row_key: object = None) -> None:
        super().__init__(self.REASON.format(key_id), table, column, row, row_key)
        self.args = (table, column, key_id, row, row_key)
        self.key_id = key_id


class DestroyedKeyError(UnknownKeyError):
    """The key was destroyed: the value is gone by intent."""

    REASON = "names key {}, which was destroyed: what it sealed cannot be opened any more"


class RetiredKeyError(UnknownKeyError):
    """The key was retired, and can be brought back until it is destroyed. since, until: as an operator reads them."""

    REASON = (
        "names key {key}, which is retired since {since} and may be destroyed from {until} on; until then bring it back"
        " by: noisevault keys restore {key}"
    )

    def __init__(
        self,
        table: str,
        column: str,
        key_id: str,
        since: str,
        until: str,
        row: int | None = None,
        row_key: object = None,
    ) -> None:
        FieldError.__init__(self, self.REASON.format(key=key_id, since=since, until=until), table, column, row, row_key)
        self.args = (table, column, key_id, since, until, row, row_key)
        self.key_id = key_id
