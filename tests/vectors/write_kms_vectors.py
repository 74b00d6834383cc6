"""Writes kms_derive.json: framing, wrap contexts and derived keys, by the standard library alone.

Run it as `python tests/vectors/write_kms_vectors.py`; it shares no code with kms, and its output is the
stored format: a difference means that old data cannot be opened.
"""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

KEY = bytes(range(32))
OTHER_KEY = bytes(range(255, 223, -1))
KEYRING = bytes.fromhex("00112233445566778899aabbccddeeff")
OTHER_KEYRING = bytes(15) + b"\x01"


def lp(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def framed(*parts: bytes) -> bytes:
    return b"".join(lp(part) for part in parts)


def hkdf(key: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, empty salt, one block of output."""
    pseudo_random_key = hmac.digest(bytes(hashlib.sha256().digest_size), key, "sha256")
    return hmac.digest(pseudo_random_key, info + b"\x01", "sha256")


def derived(kind: str, key: bytes, keyring: bytes, names: list[str]) -> dict[str, Any]:
    label = {
        "field": b"noisevault/1 field",
        "index": b"noisevault/1 index",
        "shared index": b"noisevault/1 shared index",
        "compound index": b"noisevault/1 compound index",
        "ledger": b"noisevault/1 ledger",
    }[kind]
    info = framed(label, keyring, *(name.encode() for name in names))
    return {
        "kind": kind,
        "key": key.hex(),
        "keyring": keyring.hex(),
        "names": names,
        "info": info.hex(),
        "derived": hkdf(key, info).hex(),
    }


def refused(error: str, kind: str, key: bytes, keyring: bytes, names: list[str]) -> dict[str, Any]:
    return {"kind": kind, "key": key.hex(), "keyring": keyring.hex(), "names": names, "error": error}


def numbered(cases: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {"tcId": number, "comment": comment, "result": "invalid" if "error" in case else "valid"} | case
        for number, (comment, case) in enumerate(cases, 1)
    ]


def framing(*parts: bytes) -> dict[str, Any]:
    return {"parts": [part.hex() for part in parts], "framed": framed(*parts).hex()}


def wrap(keyring: bytes, purpose: str, key_id: bytes, sequence: int) -> dict[str, Any]:
    context = framed(b"noisevault/1 wrap", keyring, purpose.encode(), key_id, sequence.to_bytes(8, "big"))
    return {
        "keyring": keyring.hex(),
        "purpose": purpose,
        "key_id": key_id.hex(),
        "sequence": sequence,
        "context": context.hex(),
    }


def wrap_refused(error: str, keyring: bytes, purpose: str, key_id: bytes, sequence: int) -> dict[str, Any]:
    return {
        "keyring": keyring.hex(),
        "purpose": purpose,
        "key_id": key_id.hex(),
        "sequence": sequence,
        "error": error,
    }


FRAMING = [
    ("a label alone", framing(b"noisevault/1 field")),
    ("an empty part is still a part", framing(b"x", b"")),
    ("two parts", framing(b"x", b"ab", b"c")),
    ("the same bytes, split elsewhere, frame otherwise", framing(b"x", b"a", b"bc")),
    ("a part that looks like framing", framing(b"x", bytes(4) + b"\x00\x00\x00\x01a")),
    ("a part of 256 bytes", framing(b"x", bytes(256))),
]

WRAP = [
    ("a data key", wrap(KEYRING, "data", b"\x01\x02\x03\x04", 1)),
    ("another purpose", wrap(KEYRING, "index", b"\x01\x02\x03\x04", 1)),
    ("another sequence", wrap(KEYRING, "data", b"\x01\x02\x03\x04", 2)),
    ("another keyring", wrap(OTHER_KEYRING, "data", b"\x01\x02\x03\x04", 1)),
    ("a large sequence", wrap(KEYRING, "ledger", b"\xff\xff\xff\xff", 2**40)),
    ("a keyring id of 15 bytes", wrap_refused("ValueError", KEYRING[:15], "data", b"\x01\x02\x03\x04", 1)),
    ("a key id of 5 bytes", wrap_refused("ValueError", KEYRING, "data", b"\x01\x02\x03\x04\x05", 1)),
    ("sequence 0", wrap_refused("ValueError", KEYRING, "data", b"\x01\x02\x03\x04", 0)),
    ("a purpose that is not ASCII", wrap_refused("UnicodeEncodeError", KEYRING, "dåta", b"\x01\x02\x03\x04", 1)),
]

DERIVED = [
    ("a field", derived("field", KEY, KEYRING, ["patients", "email"])),
    ("another column", derived("field", KEY, KEYRING, ["patients", "phone"])),
    ("a table with its schema", derived("field", KEY, KEYRING, ["clinic.patients", "email"])),
    ("names split elsewhere", derived("field", KEY, KEYRING, ["patientse", "mail"])),
    ("names that are not ASCII", derived("field", KEY, KEYRING, ["città", "naïve"])),
    ("another keyring", derived("field", KEY, OTHER_KEYRING, ["patients", "email"])),
    ("another data key", derived("field", OTHER_KEY, KEYRING, ["patients", "email"])),
    ("a blind index", derived("index", KEY, KEYRING, ["patients", "email", "bidx"])),
    ("a second index", derived("index", KEY, KEYRING, ["patients", "email", "domain"])),
    ("an index that columns share", derived("shared index", KEY, KEYRING, ["person"])),
    ("an index over columns", derived("compound index", KEY, KEYRING, ["patients", "name_and_birth"])),
    ("the audit log's HMAC", derived("ledger", KEY, KEYRING, ["audit"])),
    ("the questions' HMAC", derived("ledger", KEY, KEYRING, ["question"])),
    ("the stored answers", derived("ledger", KEY, KEYRING, ["answer"])),
    ("a data key of 15 bytes", refused("ValueError", "field", KEY[:15], KEYRING, ["patients", "email"])),
    ("a data key of 65 bytes", refused("ValueError", "field", bytes(65), KEYRING, ["patients", "email"])),
    ("a keyring id of 15 bytes", refused("ValueError", "field", KEY, KEYRING[:15], ["patients", "email"])),
    ("an empty column name", refused("ValueError", "field", KEY, KEYRING, ["patients", ""])),
    ("an empty scope", refused("ValueError", "shared index", KEY, KEYRING, [""])),
    ("a use that the ledger does not have", refused("ValueError", "ledger", KEY, KEYRING, ["other"])),
]

VECTORS = {
    "format": "noisevault/1 keys",
    "source": "RFC 5869 and RFC 2104 by Python's hmac and hashlib; written by write_kms_vectors.py, not by kms",
    "framing": numbered(FRAMING),
    "wrap": numbered(WRAP),
    "derived": numbered(DERIVED),
}


def text() -> str:
    return json.dumps(VECTORS, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("kms_derive.json").write_text(text())
