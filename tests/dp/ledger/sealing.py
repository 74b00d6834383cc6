"""Real keys for ledger tests: AES-256-GCM and HMAC-SHA-256 under keys that every test process knows."""

import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Engine, create_engine

from dp.ledger.ledger import Ledger
from dp.price import Price
from dp.request import Request

SEALING_KEY = bytes(range(32))
QUESTION_KEY = bytes(range(32, 64))


class AesSealer:
    def __init__(self, key: bytes = SEALING_KEY) -> None:
        self._cipher = AESGCM(key)

    def seal(self, plaintext: bytes, aad: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._cipher.encrypt(nonce, plaintext, aad)

    def open(self, sealed: bytes, aad: bytes) -> bytes:
        return self._cipher.decrypt(sealed[:12], sealed[12:], aad)


class HmacKey:
    def __init__(self, key_id: bytes, key: bytes) -> None:
        self.key_id = key_id
        self._key = key

    def compute(self, message: bytes) -> bytes:
        return hmac.digest(self._key, message, "sha256")


class AuditKeys:
    """Numbered keys. The newest is the highest that was rotated to."""

    def __init__(self, newest: int = 1) -> None:
        self.newest_number = newest
        self.lost: set[int] = set()

    def newest(self) -> HmacKey:
        return self._key(self.newest_number)

    def by_id(self, key_id: bytes) -> HmacKey:
        number = int.from_bytes(key_id, "big")
        if not 0 < number <= self.newest_number or number in self.lost:
            raise LookupError("no such key")
        return self._key(number)

    def rotate(self) -> None:
        self.newest_number += 1

    @staticmethod
    def _key(number: int) -> HmacKey:
        return HmacKey(number.to_bytes(4, "big"), hashlib.sha256(b"audit" + bytes([number])).digest())


def ledger_on(
    engine: Engine, *, audit: AuditKeys | None = None, draw: Callable[[int], bytes] = os.urandom, **others: Any
) -> Ledger:
    return Ledger(
        engine,
        audit=audit or AuditKeys(),
        question=HmacKey(b"qqqq", QUESTION_KEY),
        sealer=others.pop("sealer", None) or AesSealer(),
        draw=draw,
        **others,
    )


def make_tables(url: str) -> None:
    """Of a ledger, in the database there."""
    engine = create_engine(url)
    ledger_on(engine).create_schema()
    engine.dispose()


def fresh_ledger(url: str, **others: Any) -> Ledger:
    ledger = ledger_on(create_engine(url), **others)
    ledger.create_schema()
    return ledger


def a_request(
    nano_epsilon: int = 100_000_000,
    question_text: str = "COUNT(*)",
    *,
    dataset: str = "people",
    principal: str = "ann",
    epoch: int = 1,
    **others: Any,
) -> Request:
    price = others.pop("price", None) or Price.pure(nano_epsilon)
    return Request(dataset, epoch, principal, question_text, price, **others)
