"""Writes the vectors of an exported audit log.

Run it as `python -m tests.vectors.write_audit_export_vectors`. It shares no code with dp. Others keep exports, so that
a difference means that those which were made can no longer be verified.
"""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

KEYS = {"00000001": bytes(range(32)), "00000002": bytes(range(100, 132))}
HEADER = '{"format":"noisevault/1 audit export"}'


def canonical(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def mac(key: str, text: str) -> str:
    return hmac.new(KEYS[key], text.encode("ascii"), hashlib.sha256).hexdigest()


def line(what: str, text: str, signature: str) -> str:
    return f'{{"{what}":{text},"mac":"{signature}"}}'


def entry_line(key: str, sequence: int, previous: str, kind: str, **fields: Any) -> str:
    own = {"at": 1_780_000_000_000_000 + sequence, "format": "noisevault/1 audit", "key": key, "kind": kind}
    text = canonical({**fields, **own, "previous": previous, "sequence": sequence})
    return line("entry", text, mac(key, text))


def head_line(key: str, sequence: int, last: str, **changed: Any) -> str:
    own = {"at": 1_780_000_001_000_000, "format": "noisevault/1 audit export head", "key": key}
    text = canonical({**own, "mac": last, "sequence": sequence, **changed})
    return line("head", text, mac(key, text))


def mac_of(one: str) -> str:
    return one[-66:-2]


PLACE = {"visibility": "shared", "dataset": "people", "epoch": 1, "question_mac": "5e" * 32}
COST = {"nano_epsilon": 100_000_000, "nano_rho": 5_000_000, "atto_delta": 0, "unbounded": 0}
SEALED = {"sealed_sha256": "a5" * 32, "principal": "Zoë", "attempt": 1, "charge": "c0" * 16}
FIRST = entry_line("00000001", 1, "", "policy", dataset="people", lifetime_nano_epsilon=10**9)
SECOND = entry_line("00000001", 2, mac_of(FIRST), "charge", **PLACE, **COST, **SEALED)
THIRD = entry_line("00000002", 3, mac_of(SECOND), "answer", **PLACE, **SEALED)
HEAD = head_line("00000002", 3, mac_of(THIRD))
WHOLE = [HEADER, FIRST, SECOND, THIRD, HEAD]
OLDER = [HEADER, FIRST, SECOND, head_line("00000001", 2, mac_of(SECOND))]
CHEAPER = SECOND.replace('"nano_epsilon":100000000', '"nano_epsilon":1')
ELSEWHERE = entry_line("00000001", 2, "ab" * 32, "charge", **PLACE, **COST, **SEALED)

VALID: list[tuple[str, list[str], dict[str, Any]]] = [
    ("three entries, under two keys", WHOLE, {"sequence": 3, "charges": 1, "answers": 1, "datasets": 1}),
    ("no entry", [HEADER, head_line("00000001", 0, "")], {"sequence": 0, "charges": 0, "answers": 0, "datasets": 0}),
    ("an older export, without a checkpoint", OLDER, {"sequence": 2, "charges": 1, "answers": 0, "datasets": 1}),
]
# What is wrong, the lines, what names it, and the checkpoint that is held against them.
INVALID: list[tuple[str, list[str], str, list[Any] | None]] = [
    ("an entry that was edited", [HEADER, FIRST, CHEAPER, THIRD, HEAD], "audit entry 2 was changed", None),
    ("an entry that was removed", [HEADER, FIRST, THIRD, HEAD], "audit entry 2 is missing", None),
    ("the first removed", [HEADER, SECOND, THIRD, HEAD], "audit entry 1 is missing", None),
    ("two that were exchanged", [HEADER, SECOND, FIRST, THIRD, HEAD], "audit entry 1 is missing", None),
    ("one twice", [HEADER, FIRST, FIRST, SECOND, THIRD, HEAD], "audit entry 2 is missing", None),
    ("an entry of another log", [HEADER, FIRST, ELSEWHERE, THIRD, HEAD], "audit entry 2 is another one", None),
    ("cut, the head kept", [HEADER, FIRST, SECOND, HEAD], "audit entry 3 is missing", None),
    ("cut with the head", [HEADER, FIRST, SECOND], "audit entry 3, or the signed head, is missing", None),
    ("nothing but the header", [HEADER], "audit entry 1, or the signed head, is missing", None),
    ("an older export, by a checkpoint", OLDER, "audit entry 3 is missing", [3, mac_of(THIRD)]),
    ("a log that was rewritten", WHOLE, "audit entry 2 is not the one of the checkpoint", [2, "0" * 64]),
    ("a head that was edited", [*WHOLE[:-1], HEAD.replace('"sequence":3', '"sequence":2')], "the head of the", None),
    ("a head of fewer entries", [*WHOLE[:-1], OLDER[-1]], "audit entry 3 is not the head of the export", None),
    ("a head of another format", [*WHOLE[:-1], head_line("00000002", 3, mac_of(THIRD), format="x")], "the head", None),
    ("a line after the head", [*WHOLE, THIRD], "line 6 comes after the head", None),
    ("no header", WHOLE[1:], "the first line is not", None),
    ("a header of another format", [HEADER.replace("/1", "/2"), *WHOLE[1:]], "the first line is not", None),
    ("an empty line", [HEADER, "", *WHOLE[1:]], "line 2 is none of an export", None),
    ("a blank in a line", [HEADER, FIRST.replace('{"entry":', '{"entry": '), *WHOLE[2:]], "audit entry 1 was", None),
    ("a line that is no JSON", [HEADER, line("entry", "{", "0" * 64), *WHOLE[2:]], "line 2 is none of an export", None),
    ("a line that is no object", [HEADER, line("entry", "1", "0" * 64), *WHOLE[2:]], "line 2 is none of an", None),
    ("a MAC in capitals", [HEADER, FIRST[:-66] + mac_of(FIRST).upper() + '"}', *WHOLE[2:]], "audit entry 1 was", None),
    ("a key that is not there", [HEADER, FIRST.replace("00000001", "00000009"), *WHOLE[2:]], "audit entry 1", None),
    ("nothing", [], "the first line is not", None),
]  # fmt: skip


def vectors() -> dict[str, Any]:
    tests: list[dict[str, Any]] = []
    for comment, lines, report in VALID:
        tests.append({"comment": comment, "result": "valid", "lines": lines, "report": report})
    for comment, lines, named, checkpoint in INVALID:
        wrong = {"comment": comment, "result": "invalid", "error": "AuditError", "names": named, "lines": lines}
        tests.append(wrong | ({"checkpoint": checkpoint} if checkpoint else {}))
    return {
        "format": "noisevault/1 audit export",
        "source": "computed by write_audit_export_vectors.py from docs/formats.md, section 13, not by dp",
        "keys": {name: key.hex() for name, key in KEYS.items()},
        "tests": [{"tcId": place, **test} for place, test in enumerate(tests, 1)],
    }


if __name__ == "__main__":
    path = Path(__file__).with_name("audit_export.json")
    path.write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n")
