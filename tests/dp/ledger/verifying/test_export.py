"""An export is verified without the ledger, and whatever was done to it is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from dp.errors import AuditError
from dp.ledger.answers import Claim
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditHead
from dp.ledger.log.events import Event
from dp.ledger.verifying.export import verify_export
from tests.dp.ledger.sealing import AuditKeys, HmacKey, a_request
from tests.vectors.write_audit_export_vectors import vectors

pytestmark = pytest.mark.databases_in_turn

PATH = Path(__file__).parents[3] / "vectors" / "audit_export.json"
VECTORS = json.loads(PATH.read_text())


class VectorKeys:
    def newest(self) -> HmacKey:
        raise AssertionError("verifying signs nothing")

    def by_id(self, key_id: bytes) -> HmacKey:
        return HmacKey(key_id, bytes.fromhex(VECTORS["keys"][key_id.hex()]))


def verified(test: dict[str, Any]) -> Any:
    kept = AuditHead(*test["checkpoint"]) if "checkpoint" in test else None
    return verify_export([line.encode() + b"\n" for line in test["lines"]], VectorKeys(), kept)


def test_the_vectors_are_what_their_script_writes() -> None:
    assert vectors() == VECTORS


@pytest.mark.parametrize("test", VECTORS["tests"], ids=lambda test: test["comment"])
def test_vectors(test: dict[str, Any]) -> None:
    if test["result"] == "invalid":
        with pytest.raises(AuditError) as failure:
            verified(test)
        assert str(failure.value).startswith(test["names"])
    else:
        report = verified(test)
        found = {"charges": report.charges, "answers": report.answers, "datasets": report.datasets}
        assert {"sequence": report.head.sequence} | found == test["report"]


WHOLE = [line.encode() + b"\n" for line in VECTORS["tests"][0]["lines"]]


@settings(deadline=None)
@given(line=st.integers(0, len(WHOLE) - 1), data=st.data())
def test_no_byte_can_be_changed_left_out_or_added(line: int, data: st.DataObject) -> None:
    before = WHOLE[line]
    place = data.draw(st.integers(0, len(before) - 1))
    other = data.draw(st.binary(max_size=2).filter(lambda other: other != before[place : place + 1]))
    after = before[:place] + other + before[place + 1 :]
    with pytest.raises(AuditError):
        verify_export([*WHOLE[:line], after, *WHOLE[line + 1 :]], VectorKeys())


@pytest.mark.parametrize("key", ["[]", "{}", "null", "1", "true", '"00"', '"\\ud800"', "[" * 100_000])
def test_a_key_that_is_none_is_told(key: str) -> None:
    """What is signed is looked at before its MAC is known to be right, since it says by which key that was made."""
    sequence, previous = json.loads(WHOLE[1])["entry"]["sequence"], json.loads(WHOLE[1])["mac"]
    line = f'{{"entry":{{"key":{key},"sequence":{sequence}}},"mac":"{previous}"}}\n'.encode()
    with pytest.raises(AuditError, match=r"audit entry 1 names key|line 2 is none of an export"):
        verify_export([WHOLE[0], line, *WHOLE[2:]], VectorKeys())


def exported(ledger: Ledger, at_least: AuditHead | None = None) -> list[bytes]:
    lines: list[bytes] = []
    ledger.export_audit(lines.append, at_least)
    return lines


@pytest.fixture
def used(ledger: Ledger, audit_keys: AuditKeys) -> Ledger:
    claim = ledger.charge(a_request(principal="Zoë", request_id="r-1"))
    assert isinstance(claim, Claim)
    audit_keys.rotate()
    ledger.store(claim, b"41.5")
    ledger.record_events([Event("key 1 made", "key made")])
    return ledger


def test_an_export_has_every_entry_and_is_whole(used: Ledger, audit_keys: AuditKeys) -> None:
    lines, report = exported(used), used.verify_audit()
    assert len(lines) == report.head.sequence + 2
    assert verify_export(lines, audit_keys) == report
    assert verify_export(lines, audit_keys, report.head) == report
    assert b"41.5" not in b"".join(lines)
    used.declare("others", 5)
    later = used.verify_audit().head
    with pytest.raises(AuditError, match=f"entry {later.sequence} is missing"):
        verify_export(lines, audit_keys, later)


def test_a_log_that_was_changed_is_not_exported(used: Ledger, engine: Engine) -> None:
    head = used.verify_audit().head
    with pytest.raises(AuditError, match="entry 2 is not the one of the checkpoint"):
        exported(used, AuditHead(2, "0" * 64))
    with engine.begin() as connection:
        connection.execute(text(f"DELETE FROM noisevault_audit WHERE sequence = {head.sequence}"))
    with pytest.raises(AuditError, match=f"entry {head.sequence} is missing"):
        exported(used)
