"""Own codecs. Each test registers under a name of its own: a registration is for the life of the process."""

import threading
from functools import partial
from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault import register_codec
from vault.codecs import codec_named
from vault.codecs.own import own_codec_ids
from vault.definitions.definition import FieldDefinition
from vault.errors import CannotOpenError, DefinitionError, InvalidValueError
from vault.field import Field
from vault.terms.term import BlindIndex


def pair_bytes(value: tuple[int, int]) -> bytes:
    return b"%d,%d" % value


def bytes_pair(data: bytes) -> tuple[int, ...]:
    return tuple(map(int, data.split(b",")))


def pair_equality(value: tuple[int, int]) -> bytes:
    return pair_bytes((min(value), max(value)))


def field(codec: str) -> Any:
    keyring: Any = FixedKeyring({b"data": bytes(32)}, {b"idx1": bytes(32)})
    return Field(FieldDefinition("t", "c", codec, indexes=(BlindIndex(),)), keyring)


def test_values_of_an_own_codec_are_sealed_opened_and_found() -> None:
    codec = register_codec("test.pair", 1, encode=pair_bytes, decode=bytes_pair, equality=pair_equality)
    assert codec is codec_named("test.pair/1")
    pairs = field("test.pair/1")
    assert pairs.open(pairs.seal((2, 1))) == (2, 1)
    assert pairs.open_many(pairs.seal_many([(2, 1), None])) == [(2, 1), None]
    assert pairs.terms((2, 1)) == pairs.terms((1, 2)) != pairs.terms((1, 1))
    padded = field("test.pair/1+pad32")
    assert len(padded.seal((2, 1))) == 34 + 32
    assert padded.open(padded.seal((2, 1))) == (2, 1)


def test_two_versions_and_two_codecs_are_never_mixed_up() -> None:
    register_codec("test.mixed", 1, encode=pair_bytes, decode=bytes_pair)
    register_codec("test.mixed", 2, encode=pair_bytes, decode=bytes_pair)
    with pytest.raises(CannotOpenError):
        field("test.mixed/2").open(field("test.mixed/1").seal((1, 2)))
    with pytest.raises(CannotOpenError):
        field("bytes/1").open(field("test.mixed/1").seal((1, 2)))
    assert (
        FieldDefinition("t", "c", "test.mixed/1").fingerprint != FieldDefinition("t", "c", "test.mixed/2").fingerprint
    )


def test_the_same_codec_may_be_registered_again_and_another_may_not() -> None:
    first = register_codec("test.again", 1, encode=pair_bytes, decode=bytes_pair)
    assert register_codec("test.again", 1, encode=pair_bytes, decode=bytes_pair) is first
    for changed in ({"encode": pair_equality}, {"decode": bytes.decode}, {"equality": pair_equality}):
        with pytest.raises(
            DefinitionError, match=r"another codec is registered as test\.again/1: register a new version"
        ):
            register_codec("test.again", 1, **{"encode": pair_bytes, "decode": bytes_pair} | changed)  # type: ignore[arg-type]
    assert codec_named("test.again/1") is first


def test_of_threads_that_register_at_once_one_wins_and_the_others_are_told() -> None:
    won: list[object] = []
    refused: list[DefinitionError] = []
    gate = threading.Barrier(8)

    def register() -> None:
        gate.wait()
        try:
            won.append(register_codec("test.race", 1, encode=partial(pair_bytes), decode=bytes_pair))
        except DefinitionError as error:
            refused.append(error)

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)


@pytest.mark.parametrize(
    "name", ["pair", "str", "Test.pair", "test.", ".pair", "test.pa ir", "test/1.x", "a." + "b" * 80, 7]
)
def test_a_name_that_could_be_ours_or_cannot_be_told_is_refused(name: Any) -> None:
    with pytest.raises(DefinitionError, match="with a dot, as 'acme"):
        register_codec(name, 1, encode=pair_bytes, decode=bytes_pair)


@pytest.mark.parametrize("version", [0, -1, 10_000, "1", True, 1.0])
def test_a_version_is_a_number_from_one(version: Any) -> None:
    with pytest.raises(DefinitionError, match="version of a codec"):
        register_codec("test.version", version, encode=pair_bytes, decode=bytes_pair)


def test_a_codec_that_is_not_registered_is_named_with_what_to_do() -> None:
    with pytest.raises(DefinitionError, match=r"no codec 'test\.nowhere/1': call register_codec\(\) before"):
        FieldDefinition("t", "c", "test.nowhere/1")
    register_codec("test.listed", 1, encode=pair_bytes, decode=bytes_pair)
    assert "test.listed/1" in own_codec_ids()
    with pytest.raises(DefinitionError, match=r"test\.listed/1"):
        codec_named("str/9")


def failing(value: Any) -> Any:
    raise RuntimeError(f"cannot take {value!r}")


def test_what_its_functions_raise_shows_nothing_of_the_value() -> None:
    register_codec("test.failing", 1, encode=failing, decode=bytes_pair)
    register_codec("test.reading", 1, encode=bytes, decode=failing)
    register_codec("test.text", 1, encode=str, decode=bytes.decode)  # type: ignore[arg-type]
    for attempt in (
        lambda: field("test.failing/1").seal("secret"),
        lambda: field("test.failing/1").terms("secret"),
        lambda: field("test.text/1").seal("secret"),
        lambda: field("test.reading/1").open(field("test.reading/1").seal(b"secret")),
        lambda: field("test.reading/1").open_many(field("test.reading/1").seal_many([b"secret"])),
    ):
        with pytest.raises((InvalidValueError, CannotOpenError), match=r"t\.c") as raised:
            attempt()
        assert "secret" not in f"{raised.value!r} {raised.value} {raised.value.__dict__}"
        assert raised.value.__context__ is None
        assert raised.value.__cause__ is None
