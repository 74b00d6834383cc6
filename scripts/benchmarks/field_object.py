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
from vault.envelope import associated_data, header
from vault.field import Field
from vault.row_context import BoundColumn

VALUES = [secrets.token_hex(16) for _ in range(400)]
PLAIN = [value.encode() for value in VALUES]
ROW = {"id": 7}
HEAD = header(0, b"\1\2\3\4")
AAD = associated_data(HEAD, "str/1")


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


def each_seal(field: Field, values: Sequence[object]) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            field.seal(value)

    return call


def each_open(field: Field, values: Sequence[object]) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            field.open(value)

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

    def with_data(value: bytes) -> bytes:
        nonce = os.urandom(12)
        return HEAD + nonce + cipher.encrypt(nonce, value, AAD)

    def row_bound() -> None:
        for value in VALUES:
            bound.seal(value, ROW)

    variants: dict[str, Callable[[], object]] = {
        "floor: urandom + AESGCM.encrypt": floor,
        "the same in a function": each(function, PLAIN),
        "and with header and associated data": each(with_data, PLAIN),
        "Field.seal, bytes": each_seal(octets, PLAIN),
        "Field.seal, str": each_seal(field, VALUES),
        "Field.seal, row-bound": row_bound,
        "Field.seal_many": lambda: field.seal_many(VALUES),
        "sqlalchemy-utils AesGcmEngine": each(peer.encrypt, VALUES),
    }
    return Comparison("seal one 32-byte value", variants, operations=len(VALUES), rounds=75)


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

    with_header = [HEAD + nonce + cipher.encrypt(nonce, value, AAD) for value in PLAIN]

    def with_data(value: bytes) -> bytes:
        return cipher.decrypt(value[6:18], value[18:], AAD)

    def row_bound() -> None:
        for value in sealed_bound:
            bound.open(value, ROW)

    variants: dict[str, Callable[[], object]] = {
        "floor: AESGCM.decrypt": floor,
        "the same in a function": each(function, stored),
        "and with associated data": each(with_data, with_header),
        "Field.open, bytes": each_open(octets, octets.seal_many(PLAIN)),
        "Field.open, str": each_open(field, sealed),
        "Field.open, row-bound": row_bound,
        "Field.open_many": lambda: field.open_many(sealed),
        "sqlalchemy-utils AesGcmEngine": each(peer.decrypt, [peer.encrypt(value) for value in VALUES]),
    }
    return Comparison("open one 32-byte value", variants, operations=len(VALUES), rounds=75)
