"""Writes kms_pkcs11.json: keys wrapped by an AES-256 key as a PKCS#11 token does it, without kms and without a token.

Run it as `python tests/vectors/write_kms_pkcs11_vectors.py`.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEK = bytes(range(32))
KEY = bytes(range(64, 96))
IV = bytes.fromhex("c0c1c2c3c4c5c6c7c8c9cacb")
KEYRING = bytes.fromhex("00112233445566778899aabbccddeeff")
SERIAL, ID, LABEL = "3ba6493649da337f", bytes.fromhex("01af"), "kek 2026;é"


def lp(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def context(purpose: str, key_id: str, sequence: int) -> bytes:
    parts = (b"noisevault/1 wrap", KEYRING, purpose.encode(), bytes.fromhex(key_id), sequence.to_bytes(8, "big"))
    return b"".join(map(lp, parts))


def identity(serial: str, key_id: bytes, label: str) -> str:
    said = [f"serial={quote(serial, safe='')}"]
    said += [f"id={''.join(f'%{byte:02X}' for byte in key_id)}"] if key_id else []
    said += [f"object={quote(label, safe='')}"] if label else []
    return f"pkcs11:{';'.join(said)}"


def text() -> str:
    place = context("data", "01020304", 3)
    sealed = IV + AESGCM(KEK).encrypt(IV, KEY, place)
    case: dict[str, Any] = {"kek": KEK.hex(), "context": place.hex(), "wrapped": sealed.hex()}
    index = context("index", "a1b2c3d4", 2**40)
    valid = [
        ("a data key", case),
        (
            "an index key, a high sequence",
            case | {"context": index.hex(), "wrapped": (IV + AESGCM(KEK).encrypt(IV, KEY, index)).hex()},
        ),
    ]
    invalid = [
        ("another place", {"context": context("data", "01020304", 4).hex()}),
        ("another purpose", {"context": context("index", "01020304", 3).hex()}),
        ("another key", {"kek": bytes(32).hex()}),
        ("a bit of the ciphertext changed", {"wrapped": (sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:]).hex()}),
        ("a bit of the IV changed", {"wrapped": (bytes([sealed[0] ^ 1]) + sealed[1:]).hex()}),
        ("the tag cut to 96 bits", {"wrapped": sealed[:-4].hex()}),
        ("an IV and a tag around nothing", {"wrapped": (sealed[:12] + sealed[-16:]).hex()}),
        ("nothing", {"wrapped": ""}),
        ("what is wrapped has no 16 bytes", {"wrapped": (IV + AESGCM(KEK).encrypt(IV, bytes(15), place)).hex()}),
    ]
    tests = [
        {"comment": comment, "result": "valid", **made, "iv": IV.hex(), "key": KEY.hex()} for comment, made in valid
    ] + [
        {"comment": comment, "result": "invalid", **(case | other), "error": "CannotUnwrapError"}
        for comment, other in invalid
    ]
    tokens = ((SERIAL, ID, LABEL), (SERIAL, b"", LABEL), (SERIAL, ID, ""), ("a b/1", ID, "k~.-_"))
    identities = [
        {"serial": serial, "id": key_id.hex(), "label": label, "identity": identity(serial, key_id, label)}
        for serial, key_id, label in tokens
    ]
    vectors = {
        "format": "noisevault/1 pkcs11 wrap",
        "source": "AES-256-GCM by cryptography, RFC 7512 by Python's urllib; written by write_kms_pkcs11_vectors.py",
        "identities": identities,
        "tests": [{"tcId": number, **test} for number, test in enumerate(tests, 1)],
    }
    return json.dumps(vectors, indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("kms_pkcs11.json").write_text(text())
