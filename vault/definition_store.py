"""Definition store: each field's definitions as its data was written, and the index key each slot keeps.

It lies in the database of the keys. The first registration of a field records it; each later one is compared.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Engine, and_, insert, inspect, select
from sqlalchemy.exc import IntegrityError

from kms.errors import SchemaVersionError
from kms.key_database import prepare, reading, writing
from kms.key_record import Purpose
from kms.keyring import Keyring
from kms.schema_version import check_schema_version, create_component
from vault.changeover.tables import metadata as changeovers
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table, index_slot_table, metadata
from vault.definitions.drift import refuse_drift, refuse_unsafe_step, reindex_command
from vault.definitions.index_definition import CompoundDefinition, shared_definitions
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.definitions.index_store import register_index
from vault.definitions.recorded_definitions import field_row, field_slots, recorded_fields, slot_row
from vault.errors import DefinitionChangedError
from vault.field import Field
from vault.index.home import IndexHome, at_home, no_home
from vault.index.news import IndexNews, index_news

__all__ = ["Registration", "bound_names_of_all", "create_schema", "register", "register_compound"]

COMPONENT: Final = "vault"
# Of its own, so that a key store from before them gets these tables and keeps the others.
CHANGEOVERS: Final = "changeovers"
SCHEMA_VERSION: Final = 1
ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Registration:
    """A field as recorded. generations: all its definitions. slots: the pins by index name.

    homes: the other keyrings that its indexes live in, with what is recorded there.
    """

    definition: FieldDefinition
    generations: Mapping[int, FieldDefinition]
    slots: Mapping[str, SlotKeys]
    homes: Mapping[str, IndexHome] = field(default_factory=dict)
    news: IndexNews | None = field(default=None, compare=False)

    def field(self, keyring: Keyring) -> Field:
        """The field object, which opens every recorded generation and writes terms with the pinned keys."""
        return Field(self.definition, keyring, self.slots, self.generations, self.homes, self.news)


def create_schema(engine: Engine) -> None:
    """Create what is missing; two processes may do so at once. Raises: SchemaVersionError."""
    prepare(engine)
    create_component(engine, COMPONENT, SCHEMA_VERSION, metadata.sorted_tables)
    create_component(engine, CHANGEOVERS, SCHEMA_VERSION, changeovers.sorted_tables)


def register(
    engine: Engine,
    definitions: Iterable[FieldDefinition],
    keyring: Keyring,
    home: Callable[[str], Keyring] = no_home,
) -> list[Registration]:
    """Record each definition, or compare it with what is recorded; in the order given. To be done at start-up.

    engine: the key store's. The tables are created if they are not there. home: gives the keyring of that name, which
    an index lives in. The pins of shared indexes are their scope's, so that one key makes the terms of all its columns.
    Raises: DefinitionChangedError, IndexChangedError, SchemaVersionError, KmsError.
    """
    prepare(engine)
    try:
        with reading(engine) as connection:
            check_schema_version(connection, COMPONENT, SCHEMA_VERSION)
            check_schema_version(connection, CHANGEOVERS, SCHEMA_VERSION)
    except SchemaVersionError:
        create_schema(engine)  # raises it again if the version is another
    return [_register_with_homes(engine, definition, keyring, home) for definition in definitions]


def register_compound(engine: Engine, definition: CompoundDefinition, keyring: Keyring) -> SlotKeys:
    """As register, for an index over several columns; gives what its slots are pinned to.

    Raises: IndexChangedError, SchemaVersionError, KmsError.
    """
    register(engine, (), keyring)
    return register_index(engine, definition, keyring)


def _register_with_homes(
    engine: Engine, definition: FieldDefinition, keyring: Keyring, home: Callable[[str], Keyring]
) -> Registration:
    """With each keyring that an index lives in, the definition as far as it is of that index is recorded too."""
    homes = {}
    for name in dict.fromkeys(index.keyring for index in definition.indexes if index.keyring is not None):
        its = home(name)
        there = _register(engine, at_home(definition, name), its, name)
        homes[name] = IndexHome(its, there.generations, there.slots, index_news(engine, its))
    own = _register(engine, definition, keyring, None)
    return replace(own, homes=homes, news=index_news(engine, keyring))


def _register(engine: Engine, definition: FieldDefinition, keyring: Keyring, home: str | None) -> Registration:
    """home: which of the indexes are pinned here."""
    for _ in range(ATTEMPTS):
        with reading(engine) as connection:
            generations = recorded_fields(connection, keyring.id, definition.table, definition.column)
            slots = field_slots(connection, keyring.id, definition.table, definition.column)
        known, recorded = dict(generations), generations.get(definition.generation)
        if recorded is None:
            if generations:
                refuse_unsafe_step(_nearest(generations, definition.generation), definition)
            generations[definition.generation] = definition
        else:
            refuse_drift(recorded, definition)
        # Before the field is recorded, so that one that its scope refuses can be declared otherwise.
        slots |= {name: register_index(engine, one, keyring) for name, one in shared_definitions(definition).items()}
        missing = [index.name for index in definition.indexes if index.keyring == home and index.name not in slots]
        if known:
            _refuse_unmade(known[max(known)], missing)
        if recorded is not None:
            return Registration(definition, generations, slots | {name: SlotKeys(None) for name in missing})
        pin = SlotPin(keyring.sealing(Purpose.INDEX).key.key_id, definition.generation)
        try:
            with writing(engine) as connection:
                connection.execute(insert(field_table).values(field_row(definition, keyring.id)))
                for name in missing:
                    row = slot_row(keyring.id, (definition.table, definition.column, name), "a", pin)
                    connection.execute(insert(index_slot_table).values(row))
        except IntegrityError:
            continue  # another process recorded it meanwhile: compare with that
        return Registration(definition, generations, slots | {name: SlotKeys(pin) for name in missing})
    raise DefinitionChangedError(
        definition.table, definition.column, "other processes keep recording it", "start one process first"
    )


def _nearest(generations: Mapping[int, FieldDefinition], generation: int) -> FieldDefinition:
    """The recorded generation before this one, or else the first."""
    before = [known for known in generations if known < generation]
    return generations[max(before) if before else min(generations)]


def bound_names_of_all(engine: Engine, definition: FieldDefinition) -> tuple[str, ...]:
    """The columns that this definition, or any recorded generation of the field in any keyring, is bound to."""
    found = [definition]
    if inspect(engine).has_table(field_table.name):
        column = field_table.c
        of_field = and_(column.table_name == definition.table, column.column_name == definition.column)
        with reading(engine) as connection:
            texts = connection.scalars(select(column.definition).where(of_field).distinct())
            found += [FieldDefinition.from_json(text) for text in texts]
    return tuple(dict.fromkeys(bound.name for one in found for bound in one.bound))


def _refuse_unmade(newest: FieldDefinition, missing: list[str]) -> None:
    """An index that the newest definition has and no slot holds was begun and given up: nothing is found by it."""
    unmade = [index.name for index in newest.indexes if index.name in missing]
    if unmade:
        raise DefinitionChangedError(
            newest.table,
            newest.column,
            f"its index {', '.join(unmade)} was never made for the rows that there are",
            f"run: {reindex_command(newest)}",
        )
