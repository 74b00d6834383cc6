"""NIST's vectors for AES-GCM and those of RFC 4231 for HMAC-SHA-256, through the code that seals, opens and indexes.

Only the derivation of the field key and the framing of the associated data are replaced, since the vectors have keys
and associated data of their own.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import cryptography_vectors
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

import vault.index.slot_terms
import vault.sealed.opening
import vault.sealed.sealing
from kms.secret import SecretKey
from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.errors import CannotOpenError
from vault.field import Field
from vault.sealed.bulk_opening import open_many
from vault.sealed.envelope import HEADER_BYTES, header
from vault.sealed.opening import Opening
from vault.sealed.sealing import Sealing
from vault.terms.term import BlindIndex, leftmost, term

KEY_ID = b"nist"
FIELD = FieldDefinition("t", "c", "bytes/1", indexes=(BlindIndex(),))
HEAD = header(0, KEY_ID)
Vector = dict[str, Any]


def gcm_vectors(name: str) -> Iterator[Vector]:
    """Those of 256-bit keys with 96-bit nonces and 128-bit tags, which are the only ones that the vault has."""
    size: dict[str, str] = {}
    vector: Vector = {}
    with cryptography_vectors.open_vector_file(f"ciphers/AES/GCM/{name}256.rsp", "r") as file:
        for line in [*file, ""]:
            field, _, value = line.strip().partition(" =")
            if field.startswith("["):
                size[field.strip("[]")] = value.strip(" ]")
            elif field == "FAIL":
                vector["FAIL"] = True
            elif not line.strip():
                if "Key" in vector and (size["IVlen"], size["Taglen"]) == ("96", "128"):
                    yield vector
                vector = {}
            elif not field.startswith("#"):
                vector[field] = bytes.fromhex(value) if field != "Count" else value


def patched(monkeypatch: pytest.MonkeyPatch, vector: Vector) -> Any:
    for module in (vault.sealed.sealing, vault.sealed.opening):
        monkeypatch.setattr(module, "field_key", lambda *_: SecretKey(vector["Key"]))
        monkeypatch.setattr(module, "associated_data", lambda *_: vector["AAD"])
    return FixedKeyring({KEY_ID: bytes(32)})


def test_values_are_sealed_as_nist_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = list(gcm_vectors("gcmEncryptExtIV"))
    for vector in vectors:
        keyring = patched(monkeypatch, vector)
        sealing = Sealing(FIELD, keyring, random=lambda n, iv=vector["IV"]: iv * (n // len(iv)))  # type: ignore[misc]
        wanted = HEAD + vector["IV"] + vector["CT"] + vector["Tag"]
        assert sealing.seal(vector["PT"]) == wanted
        assert sealing.seal_many([vector["PT"]] * 2) == [wanted] * 2
        assert wanted[HEADER_BYTES:].startswith(vector["IV"])
    assert len(vectors) >= 300


def test_values_are_opened_and_refused_as_nist_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = list(gcm_vectors("gcmDecrypt"))
    for vector in vectors:
        opening = Opening(FIELD, {}, patched(monkeypatch, vector))
        sealed = HEAD + vector["IV"] + vector["CT"] + vector["Tag"]
        if "FAIL" in vector:
            for _ in ("cold", "warm"):
                with pytest.raises(CannotOpenError):
                    opening.open(sealed)
            assert isinstance(open_many(opening, [sealed], None)[0], CannotOpenError)
        else:
            assert opening.open(sealed) == opening.open(sealed) == vector["PT"]
            assert open_many(opening, [sealed, sealed], None) == [vector["PT"]] * 2
    assert len(vectors) >= 300
    assert 100 <= sum("FAIL" in vector for vector in vectors) < len(vectors)


def hmac_vectors() -> Iterator[Vector]:
    vector: Vector = {}
    with cryptography_vectors.open_vector_file("HMAC/rfc-4231-sha256.txt", "r") as file:
        for line in file:
            field, _, value = line.strip().partition(" = ")
            if field in ("Key", "Msg", "MD"):
                vector[field] = bytes.fromhex(value)
            if field == "MD":
                yield vector
                vector = {}


def equivalent_key(key: bytes) -> SecretKey:
    """RFC 2104, section 2: a key is hashed if it is longer than a block, and padded with zeros to one."""
    return SecretKey((hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\0"))


def test_terms_are_the_hmac_of_rfc_4231(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = list(hmac_vectors())
    for vector in vectors:
        key, prefix = equivalent_key(vector["Key"]), b"\0" + KEY_ID
        monkeypatch.setattr(vault.index.slot_terms, "index_key", lambda *_, key=key: key)
        keyring: Any = FixedKeyring({KEY_ID: bytes(32)}, {KEY_ID: bytes(32)})
        field = Field(FIELD, keyring)
        assert field.terms(vector["Msg"]) == {"c_bidx_a": prefix + vector["MD"], "c_bidx_b": None}
        assert field.terms_many([vector["Msg"]] * 2) == [field.terms(vector["Msg"])] * 2
        assert term(key, 0, KEY_ID, vector["Msg"]) == prefix + vector["MD"]
        assert term(key, 0, KEY_ID, vector["Msg"], 128) == prefix + leftmost(vector["MD"], 128)
        mac = HMAC(vector["Key"], SHA256())
        mac.update(vector["Msg"])
        assert mac.finalize() == vector["MD"], "the vector is read as it is meant"
    assert len(vectors) >= 6
