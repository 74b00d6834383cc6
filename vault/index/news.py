"""Index news: what the key store says, by now, of a keyring's indexes and the definitions that made their terms."""

from sqlalchemy import Engine

from kms.key_database import reading
from kms.keyring import Keyring
from vault.changeover.history import read_history
from vault.changeover.in_force import Held, InForce, InForceLease
from vault.changeover.phase import Subject
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_definition import IndexDefinition
from vault.definitions.recorded_definitions import recorded_fields, recorded_indexes

__all__ = ["IndexNews", "index_news"]


class IndexNews:
    """Of one keyring in one process, shared by its fields and threads. Made by index_news()."""

    def __init__(self, engine: Engine, keyring: Keyring) -> None:
        self.clock = keyring.clock
        self._engine = engine
        self._keyring_id = keyring.id
        self._lease = InForceLease(engine, keyring)

    def held(self) -> Held:
        """The pins and phases that may be relied on now. Raises: LeaseExpiredError, UnavailableError."""
        return self._lease.held()

    def reload(self) -> InForce:
        """The pins and phases as they are now. Raises: UnavailableError."""
        return self._lease.reload()

    def fields(self, table: str, column: str) -> dict[int, FieldDefinition]:
        """The recorded definitions of a field by generation, read now. Raises: DefinitionChangedError."""
        with reading(self._engine) as connection:
            return recorded_fields(connection, self._keyring_id, table, column)

    def has_ended(self, subject: Subject) -> bool:
        """Whether the last changeover of an index was ended: then it may have been removed, or given up."""
        with reading(self._engine) as connection:
            events = read_history(connection, self._keyring_id, subject)
        return bool(events) and events[-1].after is None

    def indexes(self, place: tuple[str, str]) -> dict[int, IndexDefinition]:
        """Those of an index that is not one field's own. Raises: IndexChangedError."""
        with reading(self._engine) as connection:
            return recorded_indexes(connection, self._keyring_id, place)


def index_news(engine: Engine, keyring: Keyring) -> IndexNews:
    """The one object of this keyring; reads the key store the first time. Raises: UnavailableError.

    engine: the key store's, with its tables.
    """
    return keyring.beside.once("index news", lambda: IndexNews(engine, keyring))
