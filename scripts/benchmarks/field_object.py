"""Seal, open and index 32-byte values through the public field object, against bare objects and a peer."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine

from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import BoundColumn
from vault.field import Field
from vault.sealed.envelope import associated_data, header
from vault.terms.term import BlindIndex

VALUES = [secrets.token_hex(16) for _ in range(400)]
PLAIN = [value.encode() for value in VALUES]
KEYS: dict[str, tuple[str, object]] = {
    "row-bound": ("int64/1", 7),
    "bound by a UUID": ("uuid/1", uuid4()),
    "bound by text": ("str/1", "0123456789"),
}
ROWS = {name: {"id": key} for name, (_, key) in KEYS.items()}
HEAD = header(0, b"\1\2\3\4")
AAD = associated_data(HEAD, "str/1")


def comparisons() -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        keyring = fresh_vault(Path(folder)).keyring
        field = Field(FieldDefinition(table="patient", column="note", codec="str/1"), keyring)
        bound = {
            name: Field(FieldDefinition("patient", f"bound_{place}", "str/1", (BoundColumn("id", codec),)), keyring)
            for place, (name, (codec, _)) in enumerate(KEYS.items())
        }
        indexed = Field(FieldDefinition("patient", "name", "str/1", indexes=(BlindIndex(),)), keyring)
        octets = Field(FieldDefinition(table="patient", column="scan", codec="bytes/1"), keyring)
        yield sealing(field, octets, bound)
        yield opening(field, octets, bound)
        yield indexing(indexed)


def peer_engine() -> AesGcmEngine:
    engine = AesGcmEngine()
    engine._update_key("a key for the benchmark")
    return engine


def each(function: Callable[[Any], object], values: Sequence[object]) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            function(value)

    return call


def each_seal(field: Field, values: Sequence[object], row: Mapping[str, object] | None = None) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            field.seal(value)

    def call_bound() -> None:
        for value in values:
            field.seal(value, row)

    return call if row is None else call_bound


def each_open(field: Field, values: Sequence[object], row: Mapping[str, object] | None = None) -> Callable[[], None]:
    def call() -> None:
        for value in values:
            field.open(value)

    def call_bound() -> None:
        for value in values:
            field.open(value, row)

    return call if row is None else call_bound


def sealing(field: Field, octets: Field, bound: Mapping[str, Field]) -> Comparison:
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

    variants: dict[str, Callable[[], object]] = {
        "floor: urandom + AESGCM.encrypt": floor,
        "the same in a function": each(function, PLAIN),
        "and with header and associated data": each(with_data, PLAIN),
        "Field.seal, bytes": each_seal(octets, PLAIN),
        "Field.seal, str": each_seal(field, VALUES),
        **{f"Field.seal, {name}": each_seal(one, VALUES, ROWS[name]) for name, one in bound.items()},
        "Field.seal_many": lambda: field.seal_many(VALUES),
        "Field.seal_many, row-bound": lambda: bound["row-bound"].seal_many(VALUES, [ROWS["row-bound"]] * len(VALUES)),
        "sqlalchemy-utils AesGcmEngine": each(peer.encrypt, VALUES),
    }
    return Comparison("seal one 32-byte value", variants, operations=len(VALUES), rounds=75)


def opening(field: Field, octets: Field, bound: Mapping[str, Field]) -> Comparison:
    cipher, peer = AESGCM(os.urandom(32)), peer_engine()
    nonce = os.urandom(12)
    stored = [nonce + cipher.encrypt(nonce, value, None) for value in PLAIN]
    sealed = field.seal_many(VALUES)
    sealed_bound = {name: one.seal_many(VALUES, [ROWS[name]] * len(VALUES)) for name, one in bound.items()}

    def floor() -> None:
        for value in stored:
            cipher.decrypt(value[:12], value[12:], None)

    def function(value: bytes) -> bytes:
        return cipher.decrypt(value[:12], value[12:], None)

    with_header = [HEAD + nonce + cipher.encrypt(nonce, value, AAD) for value in PLAIN]

    def with_data(value: bytes) -> bytes:
        return cipher.decrypt(value[6:18], value[18:], AAD)

    variants: dict[str, Callable[[], object]] = {
        "floor: AESGCM.decrypt": floor,
        "the same in a function": each(function, stored),
        "and with associated data": each(with_data, with_header),
        "Field.open, bytes": each_open(octets, octets.seal_many(PLAIN)),
        "Field.open, str": each_open(field, sealed),
        **{f"Field.open, {name}": each_open(one, sealed_bound[name], ROWS[name]) for name, one in bound.items()},
        "Field.open_many": lambda: field.open_many(sealed),
        "sqlalchemy-utils AesGcmEngine": each(peer.decrypt, [peer.encrypt(value) for value in VALUES]),
    }
    return Comparison("open one 32-byte value", variants, operations=len(VALUES), rounds=75)


def indexing(field: Field) -> Comparison:
    keyed, prefix = HMAC(os.urandom(32), SHA256()), b"\0\1\2\3\4"

    def floor() -> None:
        copy = keyed.copy
        for value in PLAIN:
            mac = copy()
            mac.update(value)
            mac.finalize()

    def encoded() -> list[bytes]:
        copy = keyed.copy
        made = []
        for value in map(str.encode, VALUES):
            mac = copy()
            mac.update(value)
            made.append(prefix + mac.finalize())
        return made

    variants: dict[str, Callable[[], object]] = {
        "floor: HMAC.copy(), update, finalize": floor,
        "the same of text, with prefix, in a list": encoded,
        "Field.terms_by_column": lambda: field.terms_by_column(VALUES),
        "Field.terms": each(field.terms, VALUES),
        "Field.asked_term": each(partial(field.asked_term, "bidx"), VALUES),
    }
    return Comparison("the index term of one 32-byte value", variants, operations=len(VALUES), rounds=75)
