"""Phases in the key store: begun, changed and ended by command, never too early, with a history."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from kms.key_store import KeyStore
from kms.keyring import Keyring
from vault.changeover.phase import Phase, Subject
from vault.changeover.store import ChangeoverStore
from vault.errors import ChangeoverError

pytestmark = pytest.mark.databases_in_turn

NAME = Subject("patients", "name", "bidx")
PART = ("patients", "name")
WHO = {"who": "operator@host", "why": "a test"}
NO_LEASE = timedelta(0)


@pytest.fixture
def changeovers(store: KeyStore, keyring: Keyring) -> ChangeoverStore:
    """Whose lease is over as soon as it begins."""
    return ChangeoverStore(store, keyring.id, NO_LEASE)


def test_all_the_way_with_its_history(changeovers: ChangeoverStore) -> None:
    begun = changeovers.begin(NAME, "a", "b", Phase.DUAL_ASK_OLD, **WHO)
    assert changeovers.find(NAME) == begun
    assert changeovers.under_way() == [begun]
    with pytest.raises(ChangeoverError, match=r"cannot go from phase 2 to 3 yet: .* a trigger that"):
        changeovers.step(NAME, Phase.DUAL_ASK_NEW, [PART], **WHO)
    with pytest.raises(ChangeoverError, match="not guarded"):
        changeovers.note(NAME, PART, "b", "complete")
    changeovers.note(NAME, PART, "b", "guarded")
    changeovers.note(NAME, PART, "b", "complete")
    assert not changeovers.may_step(NAME, Phase.DUAL_ASK_NEW, [PART, ("other", "name")]).allowed, "of every table"
    assert not changeovers.may_step(NAME, Phase.DUAL_ASK_NEW, []).allowed
    changeovers.step(NAME, Phase.DUAL_ASK_NEW, [PART], **WHO)
    assert changeovers.step(NAME, Phase.DUAL_ASK_NEW, [PART], **WHO).phase is Phase.DUAL_ASK_NEW, "again: nothing"
    changeovers.step(NAME, Phase.NEW, [PART], **WHO)
    with pytest.raises(ChangeoverError, match="by now"):
        changeovers.note(NAME, PART, "b", "empty")
    assert not changeovers.may_end(NAME, [PART]).allowed
    changeovers.note(NAME, PART, "a", "empty")
    changeovers.end(NAME, [PART], **WHO)
    assert changeovers.find(NAME) is None
    steps = [(event.before, event.after) for event in changeovers.history(NAME)]
    assert steps == [(None, 2), (2, 3), (3, 4), (4, None)]
    assert [event.number for event in changeovers.history()] == [1, 2, 3, 4]
    assert {(event.who, event.why) for event in changeovers.history()} == {("operator@host", "a test")}


def test_what_was_found_of_a_place_is_forgotten_when_it_is_not_written_any_more(changeovers: ChangeoverStore) -> None:
    changeovers.begin(NAME, "a", "b", Phase.DUAL_ASK_OLD, **WHO)
    for what in ("guarded", "complete"):
        changeovers.note(NAME, PART, "b", what)  # type: ignore[arg-type]
        changeovers.note(NAME, PART, "a", what)  # type: ignore[arg-type]
    for phase in (3, 4, 3):
        changeovers.step(NAME, Phase(phase), [PART], **WHO)
    assert not changeovers.found(NAME, "a", [PART]).complete
    assert changeovers.found(NAME, "b", [PART]).complete
    with pytest.raises(ChangeoverError, match="from phase 3 to 2"):
        changeovers.step(NAME, Phase.DUAL_ASK_OLD, [PART], **WHO)


def test_what_was_found_is_taken_back_in_some_parts_or_in_all(changeovers: ChangeoverStore) -> None:
    parts = [PART, ("other", "name")]
    changeovers.begin(NAME, "a", "b", Phase.DUAL_ASK_OLD, **WHO)
    assert changeovers.guarded_at(NAME, PART, "b") is None
    for part in parts:
        changeovers.note(NAME, part, "b", "guarded")
    assert changeovers.found(NAME, "b", parts).guarded
    since = changeovers.guarded_at(NAME, PART, "b")
    changeovers.withdraw(NAME, "b", [PART])
    assert changeovers.guarded_at(NAME, PART, "b") is None
    assert changeovers.found(NAME, "b", parts[1:]).guarded
    changeovers.withdraw(NAME, "b")
    assert not changeovers.found(NAME, "b", parts[1:]).guarded
    changeovers.note(NAME, PART, "b", "guarded")
    assert changeovers.guarded_at(NAME, PART, "b") != since


def test_a_lease_passes_between_two_steps_and_before_anything_is_found(store: KeyStore, keyring: Keyring) -> None:
    real = ChangeoverStore(store, keyring.id, timedelta(seconds=180))
    real.begin(NAME, "a", "b", Phase.DUAL_ASK_OLD, **WHO)
    with pytest.raises(ChangeoverError, match="wait out the lease"):
        real.note(NAME, PART, "b", "guarded")
    told = real.may_step(NAME, Phase.DUAL_ASK_NEW, [PART])
    assert timedelta(seconds=170) < told.ready_at - datetime.now(UTC) <= timedelta(seconds=180)
    fast = KeyStore(store.engine, now=lambda: datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(ChangeoverError, match="wait out the lease"):  # one of two clocks is not enough
        ChangeoverStore(fast, keyring.id, timedelta(seconds=180)).note(NAME, PART, "b", "guarded")
    assert real.step(NAME, Phase.OLD, [PART], **WHO).phase is Phase.OLD, "the last step is taken back at once"
    with pytest.raises(ChangeoverError, match="cannot end yet"):
        real.end(NAME, [PART], **WHO)


def test_one_of_two_commands_begins(changeovers: ChangeoverStore) -> None:
    said: list[str] = []

    def begin() -> None:
        try:
            changeovers.begin(NAME, "a", "b", Phase.DUAL_ASK_OLD, **WHO)
            said.append("begun")
        except ChangeoverError:
            said.append("refused")

    threads = [threading.Thread(target=begin) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["begun", "refused"]


def test_nothing_is_made_of_a_changeover_that_there_is_not(changeovers: ChangeoverStore) -> None:
    for call in (
        lambda: changeovers.step(NAME, Phase.NEW, [PART], **WHO),
        lambda: changeovers.end(NAME, [PART], **WHO),
        lambda: changeovers.note(NAME, PART, "b", "complete"),
    ):
        with pytest.raises(ChangeoverError, match=r"no changeover of patients\.name index bidx is under way"):
            call()
