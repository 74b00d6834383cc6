"""Writes kms_local.json: a key wrapped under a local key file's key, without kms.

Run it as `python tests/vectors/write_kms_local_vector.py`. HKDF is the standard library's HMAC twice.
"""

import hmac
import json
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEK = bytes(range(32))
NONCE = bytes(12)
KEY = bytes(32)
CONTEXT = b"context"


def lp(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def hkdf(info: bytes) -> bytes:
    return hmac.digest(hmac.digest(bytes(32), KEK, "sha256"), info + b"\x01", "sha256")


def text() -> str:
    wrapping_key = hkdf(lp(b"noisevault/1 local wrap"))
    fingerprint = hkdf(lp(b"noisevault/1 local fingerprint"))[:16]
    vector = {
        "format": "noisevault/1 local wrap",
        "source": "RFC 5869 by Python's hmac, AES-256-GCM by cryptography; written by write_kms_local_vector.py",
        "key_file": KEK.hex(),
        "nonce": NONCE.hex(),
        "key": KEY.hex(),
        "context": CONTEXT.hex(),
        "kek": f"local:{fingerprint.hex()}",
        "ciphertext": (NONCE + AESGCM(wrapping_key).encrypt(NONCE, KEY, CONTEXT)).hex(),
    }
    return json.dumps(vector, indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("kms_local.json").write_text(text())
