from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.errors import DefinitionError
from vault.field import Field
from vault.terms.slow import OWASP_ARGON2ID, Argon2id
from vault.terms.term import BlindIndex

QUICK = Argon2id(memory_kib=7 * 1024, iterations=1, lanes=1)


def field(*indexes: BlindIndex) -> Field:
    keyring: Any = FixedKeyring({b"data": bytes(32)}, {b"idx1": bytes(range(32))})
    return Field(FieldDefinition("patients", "pin", "str/1", indexes=indexes), keyring)


def test_a_slow_index_finds_as_any_other_does_and_has_other_terms() -> None:
    pins = field(BlindIndex(slow=QUICK))
    assert pins.terms("1234") == pins.terms_many(["1234"])[0] != pins.terms("1235")
    assert pins.asked_term("bidx", "1234") == pins.terms("1234")["pin_bidx_a"]
    assert pins.terms("1234") != field(BlindIndex()).terms("1234")
    assert pins.terms("1234") != field(BlindIndex(slow=Argon2id(7 * 1024, 2, 1))).terms("1234")
    assert pins.terms("")["pin_bidx_a"] is not None


def test_what_is_stretched_depends_on_the_key() -> None:
    one, other = (QUICK.stretch(HMAC(bytes([n]) * 32, SHA256()), b"1234") for n in (1, 2))
    assert one != other
    assert len(one) == len(other) == 32


def test_slow_is_true_or_says_how_much() -> None:
    assert BlindIndex(slow=True).argon2id == OWASP_ARGON2ID
    assert BlindIndex(slow=False) == BlindIndex()
    with pytest.raises(DefinitionError, match="slow= is True"):
        BlindIndex(slow=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memory", "iterations", "lanes"),
    [
        (7167, 1, 1),
        (1048577, 1, 1),
        (1048576, 5, 1),
        (7168, 0, 1),
        (7168, 1, 17),
        (7168, True, 1),
        (7168.0, 1, 1),
        (7168, 1, 0),
    ],
)
def test_its_cost_has_a_floor_and_a_ceiling(memory: Any, iterations: Any, lanes: Any) -> None:
    with pytest.raises(DefinitionError):
        Argon2id(memory, iterations, lanes)
