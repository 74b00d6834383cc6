from uuid import UUID

import pytest

from vault.codecs.universal_id import UUID_CODEC
from vault.errors import InvalidValueError

ONE = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")


def test_a_uuid_is_its_16_bytes() -> None:
    assert UUID_CODEC.encode(ONE) == ONE.bytes
    assert UUID_CODEC.decode(ONE.bytes) == ONE


@pytest.mark.parametrize("value", [str(ONE), ONE.bytes, ONE.int])
def test_what_could_be_read_as_a_uuid_is_not_read_by_guess(value: object) -> None:
    with pytest.raises(InvalidValueError):
        UUID_CODEC.encode(value)
