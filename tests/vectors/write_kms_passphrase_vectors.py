"""Writes kms_passphrase_file.json: key files under a passphrase, without kms.

Run it as `python tests/vectors/write_kms_passphrase_vectors.py`. scrypt is the standard library's.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

FORMAT = "noisevault/1 passphrase key file"
KEY = bytes(range(32))
SALT = bytes.fromhex("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf")
NONCE = bytes.fromhex("b0b1b2b3b4b5b6b7b8b9babb")
PASSPHRASE = "correct horse battery staple"
SCRYPT = {"kdf": "scrypt", "n": 16384, "r": 8, "p": 2}
ARGON2ID = {"kdf": "argon2id", "memory_kib": 8192, "iterations": 3, "lanes": 4}


def lp(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def canonical(members: dict[str, Any]) -> bytes:
    return json.dumps(members, sort_keys=True, separators=(",", ":")).encode()


def derived(function: dict[str, Any], passphrase: bytes) -> bytes:
    if function["kdf"] == "scrypt":
        n, r, p = function["n"], function["r"], function["p"]
        return hashlib.scrypt(passphrase, salt=SALT, n=n, r=r, p=p, maxmem=2**28, dklen=32)
    return Argon2id(
        salt=SALT,
        length=32,
        iterations=function["iterations"],
        lanes=function["lanes"],
        memory_cost=function["memory_kib"],
    ).derive(passphrase)


def checked(members: dict[str, Any]) -> str:
    return canonical(members | {"sha256": hashlib.sha256(canonical(members)).hexdigest()}).decode() + "\n"


def members(function: dict[str, Any], passphrase: str) -> dict[str, Any]:
    clear = {"format": FORMAT, "nonce": NONCE.hex(), "salt": SALT.hex()} | function
    cipher = AESGCM(derived(function, passphrase.encode()))
    return clear | {"ciphertext": cipher.encrypt(NONCE, KEY, lp(FORMAT.encode()) + lp(canonical(clear))).hex()}


def text() -> str:
    argon2id, accented = members(ARGON2ID, PASSPHRASE), "cinq caf\u00e9s bien serr\u00e9s"
    decomposed = "cinq cafe\u0301s bien serre\u0301s"
    huge = {"memory_kib": 100 * 1024 * 1024}
    valid = [
        ("scrypt", members(SCRYPT, PASSPHRASE), PASSPHRASE),
        ("argon2id", argon2id, PASSPHRASE),
        ("the passphrase is taken in NFC", members(ARGON2ID, accented), decomposed),
    ]
    invalid = [
        ("another passphrase", checked(argon2id), PASSPHRASE + "r", "WrongPassphraseError"),
        ("a parameter exchanged", checked(argon2id | {"lanes": 1}), PASSPHRASE, "WrongPassphraseError"),
        ("a digit of the ciphertext lost", checked(argon2id).replace('"ciphertext":"', '"ciphertext":"0', 1)),
        ("a checksum that does not agree", checked(argon2id).replace('"lanes":4', '"lanes":3')),
        ("blanks between the members", checked(argon2id).replace(",", ", ")),
        ("100 GiB of memory", checked(argon2id | huge)),
        ("1 TiB of memory", checked(members(SCRYPT, PASSPHRASE) | {"n": 2**30})),
        ("a function of another name", checked(argon2id | {"kdf": "argon2i"})),
        ("a member that is not known", checked(argon2id | {"more": 1})),
        ("another format", checked(argon2id | {"format": "noisevault/2 passphrase key file"})),
    ]
    tests: list[dict[str, Any]] = [
        {"comment": comment, "result": "valid", "passphrase": passphrase, "file": checked(made), "key": KEY.hex()}
        for comment, made, passphrase in valid
    ]
    for comment, file, *rest in invalid:
        passphrase, error = rest or (PASSPHRASE, "KeyFileError")
        tests.append({"comment": comment, "result": "invalid", "passphrase": passphrase, "file": file, "error": error})
    vectors = {
        "format": FORMAT,
        "source": "RFC 7914 by Python's hashlib, RFC 9106 and AES-256-GCM by cryptography;"
        " written by write_kms_passphrase_vectors.py",
        "tests": [{"tcId": number, **test} for number, test in enumerate(tests, 1)],
    }
    return json.dumps(vectors, indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("kms_passphrase_file.json").write_text(text())
