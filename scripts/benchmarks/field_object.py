"""Seal and open 32-byte values through the public field object, against a bare AES-256-GCM object and a peer."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine

from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from vault.definition import FieldDefinition
from vault.field import Field
from vault.row_context import BoundColumn

VALUES = [secrets.token_hex(16) for _ in range(2000)]
PLAIN = [value.encode() for value in VALUES]
ROW = {"id": 7}


def comparisons() -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        keyring = fresh_vault(Path(folder)).keyring
        field = Field(FieldDefinition(table="patient", column="note", codec="str/1"), keyring)
        bound_by = (BoundColumn("id", "int64/1"),)
        bound = Field(FieldDefinition(table="patient", column="bound", codec="str/1", bound=bound_by), keyring)
        octets = Field(FieldDefinition(table="patient", column="scan", codec="bytes/1"), keyring)
        yield sealing(field, octets, bound)
        yield opening(field, octets, bound)


def peer_engine() -> AesGcmEngine:
    engine = AesGcmEngine()
    engine._update_key("a key for the benchmark")
    return engine


def each(function: Callable[[Any], object], values: Sequence[object]) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            function(value)

    return call


def sealing(field: Field, octets: Field, bound: Field) -> Comparison:
    cipher, peer = AESGCM(os.urandom(32)), peer_engine()

    def floor() -> None:
        for value in PLAIN:
            nonce = os.urandom(12)
            nonce + cipher.encrypt(nonce, value, None)

    def function(value: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + cipher.encrypt(nonce, value, None)

    def row_bound() -> None:
        for value in VALUES:
            bound.seal(value, ROW)

    variants: dict[str, Callable[[], object]] = {
        "floor: urandom + AESGCM.encrypt": floor,
        "the same in a function": each(function, PLAIN),
        "Field.seal, bytes": each(octets.seal, PLAIN),
        "Field.seal, str": each(field.seal, VALUES),
        "Field.seal, row-bound": row_bound,
        "Field.seal_many": lambda: field.seal_many(VALUES),
        "sqlalchemy-utils AesGcmEngine": each(peer.encrypt, VALUES),
    }
    return Comparison("seal one 32-byte value", variants, operations=len(VALUES))


def opening(field: Field, octets: Field, bound: Field) -> Comparison:
    cipher, peer = AESGCM(os.urandom(32)), peer_engine()
    nonce = os.urandom(12)
    stored = [nonce + cipher.encrypt(nonce, value, None) for value in PLAIN]
    sealed, sealed_bound = field.seal_many(VALUES), bound.seal_many(VALUES, [ROW] * len(VALUES))

    def floor() -> None:
        for value in stored:
            cipher.decrypt(value[:12], value[12:], None)

    def function(value: bytes) -> bytes:
        return cipher.decrypt(value[:12], value[12:], None)

    def row_bound() -> None:
        for value in sealed_bound:
            bound.open(value, ROW)

    variants: dict[str, Callable[[], object]] = {
        "floor: AESGCM.decrypt": floor,
        "the same in a function": each(function, stored),
        "Field.open, bytes": each(octets.open, octets.seal_many(PLAIN)),
        "Field.open, str": each(field.open, sealed),
        "Field.open, row-bound": row_bound,
        "Field.open_many": lambda: field.open_many(sealed),
        "sqlalchemy-utils AesGcmEngine": each(peer.decrypt, [peer.encrypt(value) for value in VALUES]),
    }
    return Comparison("open one 32-byte value", variants, operations=len(VALUES))
