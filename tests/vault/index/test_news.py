"""A field learns of phases, pins and generations while it is used, by the store and within a lease."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert

from kms.errors import LeaseExpiredError
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider
from tests.vault.phases import set_phase
from vault.changeover.phase import Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.definition_store import register
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table
from vault.definitions.recorded_definitions import field_row
from vault.errors import DefinitionError
from vault.field import Field
from vault.index.news import index_news
from vault.normalise import casefold
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
BIDX = Subject("patients", "name", "bidx")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyStore]:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    yield store
    store.engine.dispose()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keyring(store: KeyStore, clock: ManualClock) -> Keyring:
    return Keyring.create(store, ScriptedProvider(), "main", clock=clock, refresh=False)


@pytest.fixture
def field(store: KeyStore, keyring: Keyring) -> Field:
    return OpenedVault(keyring, store).field(NAME)


def test_a_field_goes_through_the_phases_as_the_store_says(store: KeyStore, keyring: Keyring, field: Field) -> None:
    before = field.plan()
    assert field.plan() is before
    seen = []
    for phase in (*Phase, None):
        set_phase(store, keyring, BIDX, phase)
        does = field.plan().indexes["bidx"]
        terms = field.terms("Ann")
        assert {column[-1] for column, term in terms.items() if term is not None} == set(does.written)
        assert field.asked_term("bidx", "Ann") == terms[f"name_bidx_{does.asked}"]
        seen.append((does.asked, does.written))
    assert seen == [("a", ("a",)), ("a", ("a", "b")), ("b", ("a", "b")), ("b", ("b",)), ("b", ("b",))]
    assert before.terms("Ann")["name_bidx_a"] is not None, "a statement goes on with the plan that it began with"


def test_another_process_learns_it_within_its_lease(
    store: KeyStore, keyring: Keyring, field: Field, clock: ManualClock
) -> None:
    elsewhere = OpenedVault(Keyring.open(store, ScriptedProvider(), "main", clock=clock, refresh=False), store)
    other = elsewhere.field(NAME)
    set_phase(store, keyring, BIDX, Phase.DUAL_ASK_OLD)
    assert field.plan().indexes["bidx"].written == ("a", "b")
    clock.advance(119)
    assert other.plan().indexes["bidx"].written == ("a",)
    clock.advance(1)
    assert other.plan().indexes["bidx"].written == ("a", "b")


def test_older_code_makes_the_terms_of_a_generation_that_it_does_not_declare(
    store: KeyStore, keyring: Keyring, field: Field
) -> None:
    later = replace(NAME, indexes=(BlindIndex(casefold, bits=64),), generation=1)
    with store.engine.begin() as connection:
        connection.execute(insert(field_table).values(field_row(later, keyring.id)))
    set_phase(store, keyring, BIDX, Phase.DUAL_ASK_OLD, generation=1)
    terms = field.terms("Ann")
    assert terms["name_bidx_b"] == field.terms("ANN")["name_bidx_b"]
    assert terms["name_bidx_a"] != field.terms("ANN")["name_bidx_a"]
    assert field.plan().indexes["bidx"].exact
    set_phase(store, keyring, BIDX, Phase.DUAL_ASK_NEW)
    assert not field.plan().indexes["bidx"].exact, "a truncated index does not answer =="
    assert field.asked_term("bidx", "aNN") == terms["name_bidx_b"]


def test_an_index_whose_pins_are_gone_is_refused_unless_its_removal_has_ended(
    store: KeyStore, keyring: Keyring, field: Field
) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM noisevault_index_slot")
    keyring.beside.end()
    with pytest.raises(DefinitionError, match="no slot of the index 'bidx' is pinned"):
        field.terms("Ann")
    changeovers, part = ChangeoverStore(store, keyring.id, timedelta(0)), ("patients", "name")
    changeovers.begin(BIDX, "a", "", Phase.DUAL_ASK_NEW, who="ann", why="removed")
    changeovers.step(BIDX, Phase.NEW, [part], who="ann", why="removed")
    changeovers.note(BIDX, part, "a", "empty")
    with pytest.raises(DefinitionError, match="no slot of the index 'bidx' is pinned"):
        field.terms("Ann")
    changeovers.end(BIDX, [part], who="ann", why="removed")
    assert field.terms("Ann") == {"name_bidx_a": None, "name_bidx_b": None}
    with pytest.raises(DefinitionError, match="cannot be asked now"):
        field.asked_term("bidx", "Ann")


def test_nothing_is_written_or_asked_when_the_lease_is_over_and_the_store_is_away(
    store: KeyStore, field: Field, clock: ManualClock
) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE noisevault_changeover RENAME TO away")
    clock.advance(179)
    assert field.asked_term("bidx", "Ann") == field.terms("Ann")["name_bidx_a"]
    clock.advance(1)
    for call in (lambda: field.terms("Ann"), lambda: field.asked_term("bidx", "Ann")):
        with pytest.raises(LeaseExpiredError):
            call()
    with store.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO noisevault_changeover")
    clock.advance(5)
    assert field.terms("Ann")["name_bidx_a"] is not None


def test_all_fields_of_a_keyring_share_one_lease(store: KeyStore, keyring: Keyring) -> None:
    (one, other) = register(store.engine, [NAME, replace(NAME, column="alias")], keyring)
    assert one.news is other.news is index_news(store.engine, keyring)
