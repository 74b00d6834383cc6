"""Seal and open one value through the public field object, against AES-256-GCM with a reused object, and a peer."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy_utils.types.encrypted.encrypted_type import AesGcmEngine

from scripts.benchmarks.comparison import Comparison
from vault import BlindIndex, FieldDefinition, OpenedVault
from vault.codecs import STR

VALUES = [secrets.token_hex(16) for _ in range(2000)]  # 32 bytes each


def each(function: Callable[[str], object], values: list[str] = VALUES) -> Callable[[], object]:
    def call() -> None:
        for value in values:
            function(value)

    return call


def comparisons() -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _comparisons(_field(Path(folder)))
