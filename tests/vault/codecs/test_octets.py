import pytest

from vault.codecs.octets import BYTES


class Odd(bytes):
    def __bytes__(self) -> bytes:
        return b"odd"


@pytest.mark.parametrize("value", [b"\0ab\xff", bytearray(b"\0ab\xff"), memoryview(b"\0ab\xff"), Odd(b"\0ab\xff")])
def test_kinds_of_bytes_store_equal_content_and_come_back_as_bytes(value: object) -> None:
    stored = BYTES.encode(value)
    assert stored == b"\0ab\xff"
    assert type(stored) is bytes


def test_a_view_with_steps_is_taken_as_it_reads() -> None:
    assert BYTES.encode(memoryview(b"abcdef")[::2]) == b"ace"


def test_what_was_encoded_does_not_change_with_its_source() -> None:
    source = bytearray(b"ab")
    stored = BYTES.encode(source)
    source[0] = 0
    assert stored == b"ab"
