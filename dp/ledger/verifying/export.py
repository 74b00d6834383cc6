"""Export: the audit log as lines of JSON, which is verified where the ledger's database is not.

    {"format":"noisevault/1 audit export"}
    {"entry":{...},"mac":"64 hexadecimal digits"}       each entry in order, its bytes as they were signed
    {"head":{...},"mac":"64 hexadecimal digits"}        the last: number and MAC of the last entry, signed when exported

Without the signed head the end could be cut off unnoticed. An older export is whole too: a checkpoint tells it.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sqlalchemy import Connection

from dp.errors import AuditError
from dp.ledger.answers import stored_bytes
from dp.ledger.canonical_json import canonical
from dp.ledger.keys import AuditMacs
from dp.ledger.log.audit import AuditHead, AuditLog
from dp.ledger.verifying.chain import Chain
from dp.ledger.verifying.verify import AuditReport, pages, require_head

__all__ = ["export_lines", "verify_export"]

FORMAT: Final = "noisevault/1 audit export"
HEAD_FORMAT: Final = "noisevault/1 audit export head"
FIRST: Final = canonical({"format": FORMAT}) + b"\n"
BEFORE_MAC: Final = b',"mac":"'
AFTER_MAC: Final = b'"}\n'
MAC_CHARACTERS: Final = 64
END: Final = len(BEFORE_MAC) + MAC_CHARACTERS + len(AFTER_MAC)


def export_lines(connection: Connection, log: AuditLog, at_least: AuditHead | None = None) -> Iterator[bytes]:
    """The lines, each ended by a line feed. connection: one that sees a single state throughout.

    Raises: AuditError naming the first entry that is wrong, when that is come to; what came before is no export.
    """
    chain = Chain(log.macs)
    yield FIRST
    for rows in pages(connection):
        for sequence, text, key_id, mac in rows:
            signed = stored_bytes(text)
            chain.follow(sequence, signed, key_id, mac)
            if at_least is not None:
                chain.require_on_the_way(at_least)
            yield _line(b"entry", signed, mac)
    require_head(connection, chain, at_least)
    key = log.macs.newest()
    head = canonical(
        {
            "at": log.now(),
            "format": HEAD_FORMAT,
            "key": key.key_id.hex(),
            "mac": chain.last.mac,
            "sequence": chain.last.sequence,
        }
    )
    yield _line(b"head", head, key.compute(head).hex())


def verify_export(lines: Iterable[bytes], macs: AuditMacs, at_least: AuditHead | None = None) -> AuditReport:
    """What the log of an export holds. lines: with their line feeds, as of a file that was opened to read bytes.

    Raises: AuditError naming the first entry, or else the line, that is wrong.
    """
    numbered = enumerate(lines, start=1)
    if next(numbered, (1, b""))[1] != FIRST:
        raise AuditError(f"the first line is not {FIRST.decode().strip()}: this is no export of an audit log")
    chain, kinds = Chain(macs), {"charge": 0, "answer": 0}
    datasets: set[str] = set()
    for number, line in numbered:
        what, signed, mac = _parted(number, line)
        if what == b"head":
            _require_signed_head(signed, mac, chain, macs)
            if next(numbered, None) is not None:
                raise AuditError(f"line {number + 1} comes after the head of the export, which is its end")
            chain.require_checkpoint(at_least)
            return AuditReport(chain.last, kinds["charge"], kinds["answer"], len(datasets))
        found = _record(number, signed)
        entry = chain.follow(found.get("sequence"), signed, found.get("key"), mac, found)
        if at_least is not None:
            chain.require_on_the_way(at_least)
        if entry["kind"] in kinds:
            kinds[entry["kind"]] += 1
        elif entry["kind"] == "policy" and "dataset" in entry:
            datasets.add(entry["dataset"])
    raise AuditError(
        f"audit entry {chain.last.sequence + 1}, or the signed head, is missing: the export was cut after entry"
        f" {chain.last.sequence}"
    )


def _line(what: bytes, signed: bytes, mac: str) -> bytes:
    return b'{"' + what + b'":' + signed + BEFORE_MAC + mac.encode() + AFTER_MAC


def _parted(number: int, line: bytes) -> tuple[bytes, bytes, str]:
    """What the line is of, the signed bytes and their MAC. Raises: AuditError."""
    for what in (b"entry", b"head"):
        begin = b'{"' + what + b'":'
        signed, mac = line[len(begin) : -END], line[-END + len(BEFORE_MAC) : -len(AFTER_MAC)]
        if line.startswith(begin) and mac.isascii() and line == _line(what, signed, mac.decode()):
            return what, signed, mac.decode()
    raise AuditError(f"line {number} is none of an export: it was changed, or cut")


def _record(number: int, signed: bytes) -> dict[str, Any]:
    try:
        found = json.loads(signed.decode())
    except (RecursionError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise AuditError(f"line {number} is none of an export: it was changed, or cut")
    return found


def _require_signed_head(signed: bytes, mac: str, chain: Chain, macs: AuditMacs) -> None:
    try:
        head = json.loads(signed)
        computed = macs.by_id(bytes.fromhex(head["key"])).compute(signed).hex()
    except (LookupError, RecursionError, TypeError, ValueError):
        computed = ""
    if computed != mac or head.get("format") != HEAD_FORMAT:
        raise AuditError("the head of the export was changed, or was signed by a key that is not there")
    last = chain.last
    if head["sequence"] > last.sequence:
        raise AuditError(
            f"audit entry {last.sequence + 1} is missing: the head of the export is entry {head['sequence']}"
        )
    if AuditHead(head["sequence"], head["mac"]) != last:
        raise AuditError(f"audit entry {last.sequence} is not the head of the export, which is {head['sequence']}")
