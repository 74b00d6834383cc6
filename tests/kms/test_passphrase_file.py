"""A passphrase file: opens by its passphrase; a wrong one and a damaged file are told apart; nothing hostile is run."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import KeyFileError, KmsError, WrongPassphraseError
from kms.passphrase_file import _canonical, _checksum, is_passphrase_file, key_from_passphrase_file, passphrase_file
from kms.passphrase_kdf import Argon2id, PassphraseKdf, Scrypt
from kms.secret import SecretKey, SecretText

KEY = SecretKey(bytes(range(32)))
PASSPHRASE = SecretText("correct horse battery staple")
CHEAP = Argon2id(memory_kib=7168, iterations=1, lanes=1)
RANDOM = bytes(range(100, 128))
CONTENT = passphrase_file(KEY, PASSPHRASE, CHEAP, random=RANDOM)
VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "kms_passphrase_file.json").read_text()
)["tests"]
REFUSALS = {"KeyFileError": KeyFileError, "WrongPassphraseError": WrongPassphraseError}


def changed(**members: Any) -> bytes:
    """The file with other members and a checksum that agrees, as somebody who means it would write it."""
    new = {k: v for k, v in (json.loads(CONTENT) | members).items() if v is not None}
    return _canonical(new | {"sha256": _checksum(new)})


@pytest.mark.parametrize("kdf", [CHEAP, Scrypt(n=8192, r=8, p=1)], ids=lambda kdf: kdf.name)
def test_what_is_sealed_under_a_passphrase_opens_by_it_alone(kdf: PassphraseKdf) -> None:
    content = passphrase_file(KEY, PASSPHRASE, kdf, random=RANDOM)
    assert is_passphrase_file(content)
    assert key_from_passphrase_file(content, PASSPHRASE, "kek") == KEY
    with pytest.raises(WrongPassphraseError, match="does not open the key file kek, which is not damaged"):
        key_from_passphrase_file(content, SecretText("correct horse battery stapler"), "kek")
    assert KEY.raw.hex() not in content.decode()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['tcId']}-{vector['result']}")
def test_the_published_vectors_hold(vector: dict[str, Any]) -> None:
    content, passphrase = vector["file"].encode(), SecretText(vector["passphrase"])
    if vector["result"] == "valid":
        assert key_from_passphrase_file(content, passphrase, "kek").raw.hex() == vector["key"]
        return
    with pytest.raises(KmsError) as raised:
        key_from_passphrase_file(content, passphrase, "kek")
    assert type(raised.value) is REFUSALS[vector["error"]]


def test_a_file_is_written_as_the_vectors_say() -> None:
    """A changed byte here is a changed stored format."""
    for vector in VECTORS:
        if vector["result"] == "valid":
            members = json.loads(vector["file"])
            kdf = (Scrypt if members["kdf"] == "scrypt" else Argon2id)(
                **{k: v for k, v in members.items() if isinstance(v, int)}
            )
            random = bytes.fromhex(members["salt"] + members["nonce"])
            key, passphrase = SecretKey(bytes.fromhex(vector["key"])), SecretText(vector["passphrase"])
            assert passphrase_file(key, passphrase, kdf, random=random).decode() == vector["file"]


@given(position=st.integers(0, len(CONTENT) - 2), byte=st.integers(0, 255))
def test_any_changed_byte_is_a_damaged_file_and_not_a_wrong_passphrase(position: int, byte: int) -> None:
    damaged = CONTENT[:position] + bytes([byte]) + CONTENT[position + 1 :]
    if damaged.strip() != CONTENT.strip():
        with pytest.raises(KeyFileError, match="is damaged: restore it from a copy"):
            key_from_passphrase_file(damaged, PASSPHRASE, "kek")


@given(content=st.binary(max_size=200).map(b"{".__add__) | st.integers(0, len(CONTENT) - 2).map(lambda n: CONTENT[:n]))
def test_anything_else_is_a_damaged_file(content: bytes) -> None:
    with pytest.raises(KeyFileError, match="is damaged"):
        key_from_passphrase_file(content, PASSPHRASE, "kek")


@pytest.mark.parametrize("deep", [b"[" * 4000, b'{"a":' * 800, b"{" + b'"n":' + b"9" * 4000 + b"}", b'{"n":NaN}'])
def test_what_would_break_a_reader_is_a_damaged_file(deep: bytes) -> None:
    with pytest.raises(KeyFileError, match="is damaged"):
        key_from_passphrase_file(deep, PASSPHRASE, "kek")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"memory_kib": 100 * 1024 * 1024}, "7168 to 2097152 KiB"),
        ({"iterations": 10**9}, "all its passes"),
        ({"lanes": 10**9}, "at most 16 lanes"),
        ({"iterations": 0}, "integers above 0"),
        ({"iterations": "1"}, "integers above 0"),
        ({"kdf": "pbkdf2"}, "those of scrypt or argon2id"),
        ({"kdf": "scrypt"}, "those of scrypt or argon2id"),
        ({"more": 1}, "those of scrypt or argon2id"),
        ({"lanes": None}, "those of scrypt or argon2id"),
        ({"format": "noisevault/2 passphrase key file"}, "does not know"),
        ({"salt": ""}, "is damaged"),
        ({"ciphertext": "00" * 47}, "is damaged"),
    ],
    ids=str,
)
def test_a_hostile_file_with_a_right_checksum_is_refused_before_anything_runs(
    members: dict[str, Any], said: str
) -> None:
    with pytest.raises(KeyFileError, match=said):
        key_from_passphrase_file(changed(**members), PASSPHRASE, "kek")


@pytest.mark.parametrize("members", [{"lanes": 2}, {"iterations": 2}, {"memory_kib": 8192}, {"nonce": "00" * 12}])
def test_parameters_cannot_be_exchanged(members: dict[str, Any]) -> None:
    with pytest.raises(WrongPassphraseError):
        key_from_passphrase_file(changed(**members), PASSPHRASE, "kek")


@pytest.mark.parametrize("short", ["", "fourteen chars"])
def test_a_short_passphrase_is_refused_when_a_file_is_made(short: str) -> None:
    with pytest.raises(KeyFileError, match="at least 15 characters"):
        passphrase_file(KEY, SecretText(short), CHEAP, random=RANDOM)


def test_no_message_shows_a_passphrase_or_a_key() -> None:
    with pytest.raises(WrongPassphraseError) as raised:
        key_from_passphrase_file(CONTENT, SecretText("hunter2 hunter2 hunter2"), "kek")
    assert "hunter2" not in repr(raised.value)
    assert raised.value.__cause__ is None


def test_the_vectors_are_those_that_their_script_writes() -> None:
    script = Path(__file__).parents[1] / "vectors" / "write_kms_passphrase_vectors.py"
    assert runpy.run_path(str(script))["text"]() == script.with_name("kms_passphrase_file.json").read_text()


@pytest.mark.parametrize("before", ["utf-8-sig", "utf-16"])
def test_k10_04_a_byte_order_mark_before_a_protected_key_is_damage(before: str) -> None:
    """And not a key file of the other kind, which would be told to leave its passphrase out."""
    passphrase = SecretText("correct horse battery staple")
    content = passphrase_file(SecretKey(bytes(32)), passphrase, Scrypt(n=8192, r=8, p=1), random=bytes(28))
    spoilt = content.decode().encode(before)
    assert is_passphrase_file(spoilt)
    with pytest.raises(KeyFileError, match="is damaged: restore it from a copy"):
        key_from_passphrase_file(spoilt, passphrase, "kek")
