"""A passphrase's function: published answers, and limits that no file can step over."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import KeyFileError
from kms.passphrase_kdf import (
    MEMORY_MAX_KIB,
    RFC_9106_LOW_MEMORY,
    SCRYPT_128_MIB,
    WORK_MAX_KIB,
    Argon2id,
    PassphraseKdf,
    Scrypt,
)
from kms.secret import SecretText
from tests.kms.providers.transit import frames_of


def test_scrypt_gives_the_answer_of_rfc_7914() -> None:
    """Section 12, the third vector; its first 32 bytes, since PBKDF2's blocks do not depend on the length."""
    key = Scrypt(n=16384, r=8, p=1).derive(SecretText("pleaseletmein"), b"SodiumChloride")
    assert key.raw.hex() == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"


def test_argon2id_gives_the_answer_of_the_reference_program() -> None:
    """The reference implementation's own test (phc-winner-argon2, src/test.c): t=2, m=2^16, p=1."""
    key = Argon2id(memory_kib=65536, iterations=2, lanes=1).derive(SecretText("password"), b"somesalt")
    assert key.raw.hex() == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"


def test_a_text_is_the_same_however_its_letters_are_composed() -> None:
    kdf = Scrypt(n=8192, r=8, p=1)
    assert kdf.derive(SecretText("caf\u00e9"), b"salt") == kdf.derive(SecretText("cafe\u0301"), b"salt")
    assert kdf.derive(SecretText("caf\u00e9"), b"salt") != kdf.derive(SecretText("cafe"), b"salt")


@given(n=st.integers(-1, 2**70), r=st.integers(-1, 2**40), p=st.integers(-1, 2**40))
def test_no_scrypt_demands_more_than_the_limits(n: int, r: int, p: int) -> None:
    try:
        Scrypt(n=n, r=r, p=p)
    except KeyFileError:
        return
    assert 128 * n * r <= MEMORY_MAX_KIB * 1024
    assert 128 * n * r * p <= (WORK_MAX_KIB + p) * 1024


@given(memory=st.integers(-1, 2**40), iterations=st.integers(-1, 2**40), lanes=st.integers(-1, 2**24))
def test_no_argon2id_demands_more_than_the_limits(memory: int, iterations: int, lanes: int) -> None:
    try:
        Argon2id(memory_kib=memory, iterations=iterations, lanes=lanes)
    except KeyFileError:
        return
    assert memory <= MEMORY_MAX_KIB
    assert memory * iterations <= WORK_MAX_KIB
    assert lanes <= 16


@pytest.mark.parametrize(
    "hostile",
    [
        lambda: Argon2id(memory_kib=100 * 1024 * 1024, iterations=1, lanes=1),  # 100 GiB
        lambda: Argon2id(memory_kib=3 * 1024 * 1024, iterations=1, lanes=1),  # 3 GiB, little work
        lambda: Argon2id(memory_kib=64 * 1024, iterations=10**6, lanes=1),
        lambda: Argon2id(memory_kib=64 * 1024, iterations=1, lanes=10**6),
        lambda: Scrypt(n=2**30, r=8, p=1),  # 1 TiB
        lambda: Scrypt(n=2**17, r=8, p=10**6),
        lambda: Scrypt(n=2**17 + 1, r=8, p=1),
    ],
)
def test_what_costs_too_much_is_refused_before_it_runs(hostile: Any) -> None:
    with pytest.raises(KeyFileError):
        hostile()


@pytest.mark.parametrize(
    "careless", [lambda: Argon2id(memory_kib=1024, iterations=1, lanes=1), lambda: Scrypt(n=1024, r=8, p=1)]
)
def test_what_costs_a_guesser_nothing_is_refused(careless: Any) -> None:
    with pytest.raises(KeyFileError, match="7168 to 2097152 KiB"):
        careless()


@pytest.mark.parametrize("wrong", ["65536", 65536.0, True, None])
def test_a_parameter_is_an_integer(wrong: Any) -> None:
    with pytest.raises(KeyFileError, match="integers above 0"):
        Argon2id(memory_kib=wrong, iterations=3, lanes=4)


def test_what_is_recommended_is_within_the_limits() -> None:
    Argon2id(memory_kib=2 * 1024 * 1024, iterations=1, lanes=4)  # RFC 9106, section 4, first choice
    assert RFC_9106_LOW_MEMORY.memory_kib == 64 * 1024
    assert SCRYPT_128_MIB.n == 2**17


@pytest.mark.parametrize("kdf", [Scrypt(n=8192, r=8, p=1), Argon2id(memory_kib=8192, iterations=1, lanes=1)])
def test_k14_a_passphrase_that_is_no_text_is_refused_and_in_no_error(kdf: PassphraseKdf) -> None:
    """As a terminal gives it that is set to another encoding."""
    with pytest.raises(KeyFileError, match="set to UTF-8") as raised:
        kdf.derive(SecretText("hunter2 correct horse\udce9"), bytes(16))
    assert "hunter2" not in frames_of(raised.value)
