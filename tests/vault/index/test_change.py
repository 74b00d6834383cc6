"""What begins when an index is declared otherwise, or its key was rotated."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete

from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.locked_keyring import locked
from tests.kms.scripted_provider import ScriptedProvider
from vault.changeover.phase import Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.definition_store import create_schema, register, register_compound
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import index_slot_table
from vault.definitions.index_definition import CompoundDefinition, CompoundPart
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.definitions.recorded_definitions import field_slots, recorded_fields
from vault.errors import ChangeoverError, DefinitionChangedError, IndexChangedError
from vault.index.change import begin_compound_change, begin_field_changes, record_removal, resting_slot
from vault.index.home import at_home
from vault.normalise import casefold
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
FOLDED = replace(NAME, indexes=(BlindIndex(casefold),), generation=1)
BIDX = Subject("patients", "name", "bidx")
Begin = Callable[..., list[tuple[Subject, str, str, Phase]]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyStore]:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    create_schema(store.engine)
    yield store
    store.engine.dispose()


@pytest.fixture
def keyring(store: KeyStore) -> Keyring:
    return Keyring.create(store, ScriptedProvider(), "main", refresh=False)


@pytest.fixture
def changeovers(store: KeyStore, keyring: Keyring) -> ChangeoverStore:
    return ChangeoverStore(store, keyring.id, timedelta(0))


@pytest.fixture
def begin(changeovers: ChangeoverStore, keyring: Keyring) -> Begin:
    def begin(declared: FieldDefinition, **options: object) -> list[tuple[Subject, str, str, Phase]]:
        begun = begin_field_changes(changeovers, keyring, declared, who="ann", **options)  # type: ignore[arg-type]
        return [(one.subject, one.old, one.new, one.phase) for one in begun]

    return begin


def pins(store: KeyStore, keyring: Keyring, name: str = "bidx") -> SlotKeys:
    with store.engine.connect() as connection:
        return field_slots(connection, keyring.id, "patients", "name")[name]


def test_nothing_is_due_of_what_is_as_it_is_declared(store: KeyStore, keyring: Keyring, begin: Begin) -> None:
    assert begin(NAME) == [], "its first start-up records it"
    register(store.engine, [NAME], keyring)
    assert begin(NAME) == []


def test_a_rotated_index_key_moves_an_index_to_its_other_slot(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    two = replace(NAME, indexes=(BlindIndex(), BlindIndex(last_four, name="last4")))
    register(store.engine, [two], keyring)
    new = keyring.lifecycle.rotate(Purpose.INDEX)
    assert begin(two, names=["last4"]) == [(Subject("patients", "name", "last4"), "a", "b", Phase.OLD)]
    assert begin(two) == [(BIDX, "a", "b", Phase.OLD)]
    assert begin(two) == [], "they are under way"
    assert pins(store, keyring).b == SlotPin(new.key_id, 0)
    assert changeovers.history(BIDX)[0].why.startswith("index key ")


def test_another_normaliser_is_recorded_with_its_generation_and_pinned_by_it(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    register(store.engine, [NAME], keyring)
    with pytest.raises(DefinitionChangedError, match="run this first"):
        register(store.engine, [FOLDED], keyring)
    assert begin(FOLDED) == [(BIDX, "a", "b", Phase.OLD)]
    pin = pins(store, keyring).b
    assert pin is not None
    assert pin.generation == 1
    assert begin(FOLDED) == []
    register(store.engine, [NAME, FOLDED], keyring)
    assert changeovers.history(BIDX)[0].why == "exact/1, 256 bits -> casefold/1, 256 bits"
    third = replace(NAME, indexes=(BlindIndex(bits=64),), generation=2)
    with pytest.raises(ChangeoverError, match="being changed already"):
        begin(third)


def test_another_definition_of_a_recorded_generation_begins_nothing(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    register(store.engine, [NAME], keyring)
    for declared in (replace(FOLDED, generation=0), replace(NAME, indexes=())):
        with pytest.raises(DefinitionChangedError, match="declare generation=1 and run: noisevault reindex"):
            begin(declared)
    assert changeovers.under_way() == []
    assert pins(store, keyring).b is None
    assert begin(FOLDED) == [(BIDX, "a", "b", Phase.OLD)]


def test_an_added_index_begins_from_nothing_and_a_removed_one_is_recorded_when_it_is_asked_no_more(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    register(store.engine, [NAME], keyring)
    more = replace(NAME, indexes=(BlindIndex(), BlindIndex(last_four, name="last4")), generation=1)
    assert begin(more) == [(Subject("patients", "name", "last4"), "", "a", Phase.OLD)]
    register(store.engine, [more], keyring)
    less = replace(NAME, indexes=(BlindIndex(last_four, name="last4"),), generation=2)
    assert begin(less) == [(BIDX, "a", "", Phase.DUAL_ASK_NEW)]
    with pytest.raises(DefinitionChangedError):
        register(store.engine, [less], keyring)
    assert begin(less) == []
    with locked(store.engine, keyring.id, store.now()) as held:
        for _ in range(2):
            record_removal(held, keyring.id, less)
    register(store.engine, [less], keyring)
    assert changeovers.find(BIDX) is not None


def test_an_index_that_was_given_up_before_it_was_made_does_not_start(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    register(store.engine, [replace(NAME, indexes=())], keyring)
    added = replace(NAME, generation=1)
    assert begin(added) == [(BIDX, "", "a", Phase.OLD)]
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM noisevault_index_slot")
        connection.exec_driver_sql("DELETE FROM noisevault_changeover")
    with pytest.raises(DefinitionChangedError, match=r"never made .*run: noisevault reindex patients\.name"):
        register(store.engine, [added], keyring)
    assert begin(added) == [(BIDX, "", "a", Phase.OLD)], "it can be begun again"
    register(store.engine, [added], keyring)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (replace(NAME, codec="bytes/1", generation=1), "codec recorded str/1"),
        (replace(NAME, indexes=(BlindIndex(scope="who"),), generation=1), "give the new index another name"),
        (
            replace(NAME, indexes=(BlindIndex(last_four, name="last4"),), generation=1),
            "remove the index in a generation of its own",
        ),
    ],
)
def test_what_cannot_be_moved_is_refused_and_nothing_is_recorded(
    store: KeyStore, keyring: Keyring, begin: Begin, declared: FieldDefinition, said: str
) -> None:
    register(store.engine, [NAME], keyring)
    with pytest.raises(DefinitionChangedError, match=said):
        begin(declared)
    with store.engine.connect() as connection:
        assert recorded_fields(connection, keyring.id, "patients", "name") == {0: NAME}


def test_an_older_generation_than_the_recorded_one_is_none_to_move_to(
    store: KeyStore, keyring: Keyring, begin: Begin
) -> None:
    register(store.engine, [replace(NAME, generation=5)], keyring)
    with pytest.raises(DefinitionChangedError, match="declare generation=6"):
        begin(FOLDED)


def test_code_of_before_a_change_does_not_take_it_back(store: KeyStore, keyring: Keyring, begin: Begin) -> None:
    """Newer code asks the index, or relies on it being unique: another normaliser, one more, one that was none."""
    last4 = BlindIndex(last_four, name="last4")
    none, one, two = (replace(NAME, indexes=indexes) for indexes in ((), NAME.indexes, (*NAME.indexes, last4)))
    for number, (before, after) in enumerate([(one, FOLDED), (one, two), (none, one)]):
        older = replace(before, column=f"c{number}")
        register(store.engine, [older], keyring)
        assert begin(replace(after, column=f"c{number}", generation=1))
        keyring.lifecycle.rotate(Purpose.INDEX)
        with pytest.raises(DefinitionChangedError, match=r"from the code that declares generation 1; .* generation=2"):
            begin(older)


def test_code_of_before_a_removal_does_not_bring_the_index_back(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    register(store.engine, [NAME], keyring)
    without = replace(NAME, indexes=(), generation=1)
    with locked(store.engine, keyring.id, store.now()) as inside:
        record_removal(inside, keyring.id, without)
        inside.connection.execute(delete(index_slot_table))
    with pytest.raises(DefinitionChangedError, match="from the code that declares generation 1"):
        begin(NAME)
    assert begin(without) == []
    assert begin(replace(NAME, generation=2))


def test_a_shared_index_begins_once_for_all_its_columns(
    store: KeyStore, keyring: Keyring, begin: Begin, changeovers: ChangeoverStore
) -> None:
    shared = replace(NAME, indexes=(BlindIndex(scope="who"),))
    alias = replace(shared, column="alias")
    register(store.engine, [shared, alias], keyring)
    folded = (BlindIndex(casefold, scope="who"),)
    with pytest.raises(IndexChangedError, match="noisevault reindex --all"):
        register(store.engine, [replace(shared, indexes=folded, generation=1)], keyring)
    who = Subject("", "", "who")
    assert begin(replace(shared, indexes=folded, generation=1)) == [(who, "a", "b", Phase.OLD)]
    assert begin(replace(alias, indexes=folded, generation=1)) == []
    register(store.engine, [shared, replace(alias, indexes=folded, generation=1)], keyring)
    assert changeovers.find(who) is not None


def test_an_index_over_several_columns_begins_by_key_and_by_definition(
    store: KeyStore, keyring: Keyring, changeovers: ChangeoverStore
) -> None:
    whole = CompoundDefinition("patients", "whole", (CompoundPart("name", "str/1"), CompoundPart("born", "date/1")))
    assert begin_compound_change(changeovers, keyring, whole, who="ann") == []
    register_compound(store.engine, whole, keyring)
    narrow = replace(whole, bits=64)
    with pytest.raises(IndexChangedError, match="noisevault reindex --all"):
        register_compound(store.engine, narrow, keyring)
    (begun,) = begin_compound_change(changeovers, keyring, narrow, who="ann")
    assert (begun.subject, begun.old, begun.new) == (Subject("patients", "", "whole"), "a", "b")
    assert begin_compound_change(changeovers, keyring, narrow, who="ann") == []
    slots = register_compound(store.engine, narrow, keyring)
    assert slots == register_compound(store.engine, whole, keyring)
    assert slots.b is not None
    assert slots.b.generation == 1


def test_an_index_of_another_keyring_has_its_phase_there(store: KeyStore, keyring: Keyring) -> None:
    home = Keyring.create(store, ScriptedProvider(), "lookup", refresh=False)
    there = ChangeoverStore(store, home.id, timedelta(0))
    elsewhere = replace(NAME, indexes=(BlindIndex(keyring="lookup"),))
    register(store.engine, [elsewhere], keyring, lambda _name: home)
    home.lifecycle.rotate(Purpose.INDEX)
    mine = ChangeoverStore(store, keyring.id, timedelta(0))
    assert begin_field_changes(mine, keyring, elsewhere, who="ann") == []
    (begun,) = begin_field_changes(there, home, at_home(elsewhere, "lookup"), who="ann", home="lookup")
    assert begun.subject == BIDX
    assert there.find(BIDX) == begun
    assert mine.find(BIDX) is None


def test_of_two_slots_in_use_none_rests() -> None:
    pin = SlotPin(b"idxa", 0)
    assert [resting_slot(SlotKeys(pin)), resting_slot(SlotKeys(None, pin)), resting_slot(SlotKeys(None))] == [
        "a",
        "b",
        None,
    ]
    with pytest.raises(ChangeoverError):
        resting_slot(SlotKeys(pin, pin))
