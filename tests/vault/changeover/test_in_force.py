"""Pins and phases of a whole keyring: one query, relied on for a sealing lease."""

from collections.abc import Callable

import pytest
from sqlalchemy import event, update

from kms.errors import LeaseExpiredError
from kms.key_database import writing
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider
from tests.vault.phases import set_phase
from vault.changeover.in_force import InForceLease, read_in_force
from vault.changeover.phase import Phase, Subject
from vault.changeover.tables import changeover_table
from vault.definition_store import register
from vault.definitions.definition import FieldDefinition
from vault.errors import ChangeoverError
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
BIDX = Subject("patients", "name", "bidx")


@pytest.fixture
def queries(store: KeyStore) -> list[str]:
    sent: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *args: sent.append(args[2]))
    return sent


def test_one_query_tells_of_all_indexes_and_migrations_of_the_keyring(
    store: KeyStore, keyring: Keyring, queries: list[str]
) -> None:
    register(store.engine, [NAME, FieldDefinition("patients", "city", "str/1", indexes=(BlindIndex(),))], keyring)
    other = Keyring.create(store, ScriptedProvider(), "other", refresh=False)
    register(store.engine, [NAME], other)
    set_phase(store, keyring, BIDX, Phase.DUAL_ASK_OLD)
    set_phase(store, keyring, Subject("patients", "born", ""), Phase.DUAL_ASK_NEW, old="plaintext", new="sealed")
    queries.clear()
    found = read_in_force(store.engine, keyring.id, "main")
    assert len([query for query in queries if query.startswith("SELECT") and "noisevault" in query]) == 1
    assert set(found.pins) == {BIDX, Subject("patients", "city", "bidx")}
    assert found.pins[BIDX].b is not None
    assert found.changeovers[BIDX].written == ("a", "b")
    assert found.changeovers[Subject("patients", "born", "")].asked == "sealed"
    assert not read_in_force(store.engine, other.id, "other").changeovers


@pytest.mark.parametrize(
    "values",
    [
        {"phase": 9},
        {"phase": 0},
        {"came_from": 7},
        {"since": "yesterday"},
        {"since": "2026-01-01T00:00:00"},
        {"new_place": "c"},
        {"new_place": "a"},
    ],
)
def test_what_was_written_by_hand_is_refused_in_one_line(
    store: KeyStore, keyring: Keyring, values: dict[str, object]
) -> None:
    register(store.engine, [NAME], keyring)
    set_phase(store, keyring, BIDX, Phase.DUAL_ASK_OLD)
    with writing(store.engine) as connection:
        connection.execute(update(changeover_table).values(values))
    with pytest.raises(ChangeoverError, match=r"patients\.name index bidx was written by no command"):
        read_in_force(store.engine, keyring.id, "main")


def test_it_is_relied_on_for_a_sealing_lease_and_no_longer(store: KeyStore, keyring: Keyring) -> None:
    clock = ManualClock()
    mine = Keyring.open(store, ScriptedProvider(), "main", clock=clock, refresh=False)
    lease = InForceLease(store.engine, mine)
    first = lease.held()
    register(store.engine, [NAME], keyring)
    clock.advance(119)
    assert lease.held() is first
    clock.advance(1)
    second = lease.held()
    assert second is not first
    assert first.until <= clock()
    assert BIDX in second.state.pins
    clock.advance(120)
    assert lease.held() is second, "nothing changed: the same is relied on for longer"
    assert second.until == clock() + 120
    store.engine.dispose()
    with_out_of_reach(store, lambda: expire(lease, clock))


def expire(lease: InForceLease, clock: ManualClock) -> None:
    clock.advance(179)
    lease.held()
    clock.advance(1)
    with pytest.raises(LeaseExpiredError):
        lease.held()


def with_out_of_reach(store: KeyStore, call: Callable[[], None]) -> None:
    """While a table that is read is away."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE noisevault_changeover RENAME TO away")
    call()
    with store.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO noisevault_changeover")
