"""A token's key: a token that does not take our IV, or fails by itself, is not mistaken for a tampered row.

SoftHSM does neither, so these handles stand for tokens that do; the real one is in test_pkcs11.py.
"""

import os
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pkcs11 import GCMParams
from pkcs11.exceptions import DeviceRemoved, GeneralError, PKCS11Error

from kms.errors import MisconfiguredError
from kms.providers.pkcs11_kek import TokenKey
from kms.secret import SecretKey

DATA_KEY = SecretKey(bytes(range(32)))
IV, PROBE_IV = bytes(12), bytes([1] * 12)


class Handle:
    """AES-GCM as a module gives it; `fails` is raised by the calls that are left."""

    def __init__(self, *, own_iv: bool = False, fails: PKCS11Error | None = None, after: int = 0) -> None:
        self._cipher = AESGCM(bytes(32))
        self._own_iv = own_iv
        self._fails = fails
        self._calls_left = after

    def encrypt(self, raw: bytes, *, mechanism: Any, mechanism_param: GCMParams) -> bytes:
        self._count()
        nonce = os.urandom(12) if self._own_iv else mechanism_param.nonce
        return self._cipher.encrypt(nonce, raw, mechanism_param.aad)

    def decrypt(self, sealed: bytes, *, mechanism: Any, mechanism_param: GCMParams) -> bytes:
        self._count()
        try:
            return self._cipher.decrypt(mechanism_param.nonce, sealed, mechanism_param.aad)
        except InvalidTag:
            raise GeneralError from None

    def _count(self) -> None:
        if self._fails is not None:
            if self._calls_left == 0:
                raise self._fails
            self._calls_left -= 1


def test_what_is_sealed_opens_and_what_is_changed_does_not() -> None:
    key = TokenKey(Handle(), "KEY")
    sealed = key.seal(DATA_KEY, IV, b"place")
    assert key.open(sealed, IV, b"place", probe_iv=PROBE_IV) == DATA_KEY.raw
    assert key.open(sealed, IV, b"other", probe_iv=PROBE_IV) is None


def test_a_token_that_draws_its_own_iv_is_refused_before_anything_is_lost() -> None:
    with pytest.raises(MisconfiguredError, match="has to take the IV that it is given"):
        TokenKey(Handle(own_iv=True), "KEY").seal(DATA_KEY, IV, b"place")


@pytest.mark.parametrize("after", [0, 1])
def test_a_token_that_fails_is_not_a_tampered_row(after: int) -> None:
    sealed = TokenKey(Handle(), "KEY").seal(DATA_KEY, IV, b"place")
    with pytest.raises(GeneralError):
        TokenKey(Handle(fails=GeneralError(), after=after), "KEY").open(
            sealed, IV, b"other" if after else b"place", probe_iv=PROBE_IV
        )


def test_a_token_that_is_pulled_out_is_told_at_once() -> None:
    with pytest.raises(DeviceRemoved):
        TokenKey(Handle(fails=DeviceRemoved(), after=1), "KEY").seal(DATA_KEY, IV, b"place")
    with pytest.raises(DeviceRemoved):
        TokenKey(Handle(fails=DeviceRemoved()), "KEY").open(bytes(24), IV, b"", probe_iv=PROBE_IV)
