import pytest

from dp.ledger.ledger import Ledger
from dp.ledger.log.events import Event
from dp.ledger.verifying.entries import Wanted
from tests.dp.ledger.sealing import a_request

pytestmark = pytest.mark.databases_in_turn


def test_each_event_is_told_to_the_log_once(ledger: Ledger) -> None:
    told = [Event(f"key {number}", "key activated") for number in range(3)]
    assert ledger.untold_events(told) == told
    assert ledger.record_events(told[:2]) == 2
    assert ledger.untold_events(told) == told[2:]
    assert ledger.record_events(told) == 1
    assert [entry["kind"] for entry in ledger.entries(Wanted())] == ["policy", *["event"] * 3]


def test_what_is_exported_ends_with_the_head(ledger: Ledger) -> None:
    ledger.charge(a_request())
    lines: list[bytes] = []
    head = ledger.export_audit(lines.append)
    assert head == ledger.head() == ledger.verify_audit().head
    assert head.mac.encode() in lines[-1]


def test_each_entry_is_handed_out_as_it_is_verified(ledger: Ledger) -> None:
    ledger.charge(a_request())
    seen: list[str] = []
    ledger.verify_audit(tell=lambda entry: seen.append(entry["kind"]))
    assert seen == ["policy", "charge"]
    assert [one.kind for one in ledger.logged()] == seen
