"""A local key file: who may read it, what it holds, and what its key refuses."""

import errno
import json
import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import CannotUnwrapError, KeyFileError, MisconfiguredError, WrongPassphraseError
from kms.open_provider import open_provider
from kms.passphrase_kdf import Argon2id
from kms.provider import Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.local import LocalProvider, create_key_file, is_passphrase_protected, parse_key, read_key_file
from kms.secret import SecretKey, SecretText
from tests.kms.providers.transit import frames_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)

TEXT = "00112233445566778899aabbccddeeff" * 2
KEY = SecretKey(bytes(range(32)))


def key_file(path: Path, content: str, mode: int = 0o600) -> Path:
    path.write_text(content, newline="")
    path.chmod(mode)
    return path


@given(key=st.binary(min_size=16, max_size=64), context=st.binary(max_size=64))
def test_what_is_wrapped_unwraps_in_order(key: bytes, context: bytes) -> None:
    provider = LocalProvider(KEY)
    pairs = [(provider.wrap(SecretKey(key), context), context), (provider.wrap(KEY, b"other"), b"other")]
    assert provider.unwrap(pairs) == [SecretKey(key), KEY]


@given(context=st.binary(max_size=16), other=st.binary(max_size=16))
def test_a_key_opens_in_its_own_place_only(context: bytes, other: bytes) -> None:
    provider = LocalProvider(KEY)
    wrapped = provider.wrap(KEY, context)
    if context != other:
        with pytest.raises(CannotUnwrapError, match="does not authenticate"):
            provider.unwrap([(wrapped, other)])


@given(position=st.integers(0, 59), bit=st.integers(0, 7))
def test_a_changed_bit_is_noticed(position: int, bit: int) -> None:
    provider = LocalProvider(KEY)
    wrapped = provider.wrap(KEY, b"place")
    changed = bytearray(wrapped.ciphertext)
    changed[position] ^= 1 << bit
    with pytest.raises(CannotUnwrapError):
        provider.unwrap([(Wrapped(bytes(changed), wrapped.kek, "1"), b"place")])


@pytest.mark.parametrize("size", [0, 11, 12, 28])
def test_bytes_that_are_too_short_are_refused(size: int) -> None:
    with pytest.raises(CannotUnwrapError, match="too short"):
        LocalProvider(KEY).unwrap([(Wrapped(bytes(size), LocalProvider(KEY).kek, "1"), b"")])


def test_two_wraps_of_one_key_differ() -> None:
    provider = LocalProvider(KEY)
    assert provider.wrap(KEY, b"").ciphertext != provider.wrap(KEY, b"").ciphertext


def test_the_bytes_follow_from_key_nonce_and_context() -> None:
    """A changed value here is a changed stored format."""
    provider = LocalProvider(KEY, random=bytes)
    wrapped = provider.wrap(SecretKey(bytes(32)), b"context")
    expected = json.loads((Path(__file__).parents[2] / "vectors" / "kms_local.json").read_text())
    assert (provider.kek, wrapped.ciphertext.hex()) == (expected["kek"], expected["ciphertext"])


def test_k10_01_another_key_file_is_told_by_its_fingerprint() -> None:
    wrapped = LocalProvider(KEY).wrap(KEY, b"")
    other = LocalProvider(SecretKey(bytes(32)))
    with pytest.raises(CannotUnwrapError, match="give the right key file") as raised:
        other.unwrap([(wrapped, b"")])
    assert wrapped.kek in str(raised.value)
    assert other.kek in str(raised.value)
    assert KEY.raw.hex() not in str(raised.value)


@pytest.mark.parametrize("content", [TEXT + "\n", TEXT + "\r\n", "  \t" + TEXT, "\n\n" + TEXT + " \n", TEXT.upper()])
def test_k10_04_white_space_around_the_key_does_not_matter(tmp_path: Path, content: str) -> None:
    clean = LocalProvider(read_key_file(key_file(tmp_path / "clean", TEXT)))
    assert LocalProvider(read_key_file(key_file(tmp_path / "kek", content))).kek == clean.kek


@pytest.mark.parametrize("content", [TEXT[1:], TEXT + "0", "", "g" + TEXT[1:], TEXT[:32] + "\n" + TEXT[32:], "é" * 32])
def test_k10_06_anything_but_64_hexadecimal_characters_is_one_line_that_says_so(tmp_path: Path, content: str) -> None:
    with pytest.raises(KeyFileError, match="expected are 64, all hexadecimal") as raised:
        read_key_file(key_file(tmp_path / "kek", content))
    assert "\n" not in str(raised.value)
    assert "2233445566" not in frames_of(raised.value)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TEXT.encode(),  # a byte order mark, as an editor of Windows writes it
        TEXT.encode("utf-16"),
        b"0x" + TEXT.encode(),
        b64encode(bytes.fromhex(TEXT)),
        bytes.fromhex(TEXT),
        TEXT.encode() + b"\0",
    ],
    ids=["byte order mark", "utf-16", "0x", "base64", "raw", "nul"],
)
def test_k10_04_other_spellings_of_the_same_key_are_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kek"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeyFileError, match="expected are 64, all hexadecimal") as raised:
        read_key_file(file)
    assert "\n" not in str(raised.value)
    assert "2233445566" not in frames_of(raised.value)


@pytest.mark.parametrize(
    "content",
    [b"", b" \r\n", b"\xef\xbb\xbf" + TEXT.encode(), TEXT[:48].encode(), b"-----BEGIN PRIVATE KEY-----\n"],
    ids=["empty", "blank", "byte order mark", "AES-192", "PEM"],
)
def test_k10_06_what_is_no_key_is_not_told_as_a_key_without_a_passphrase(tmp_path: Path, content: bytes) -> None:
    """Who leaves the passphrase out, as another message advises, would not come nearer to the reason."""
    file = tmp_path / "kek"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeyFileError, match="expected are 64, all hexadecimal"):
        read_key_file(file, SecretText("correct horse battery staple"))


@pytest.mark.parametrize("uri", ["LOCAL:{}", " local:{}", "local:{}\n", "Local:{}\r\n", "local://{}"])
def test_k10_04_spellings_of_a_key_files_uri_are_one_key(tmp_path: Path, uri: str) -> None:
    file = key_file(tmp_path / "kek", TEXT)
    provider = open_provider(uri.format(file))
    assert isinstance(provider, LocalProvider)
    assert provider.kek == LocalProvider(read_key_file(file)).kek


def test_k10_06_text_where_bytes_are_wanted_is_a_clear_error() -> None:
    wrong: Any = TEXT
    with pytest.raises(TypeError, match="bytes, not str"):
        parse_key(wrong, "kek")
    with pytest.raises(TypeError, match="a key is bytes, not str"):
        SecretKey(wrong)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644, 0o666])
def test_a_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(KeyFileError, match="chmod 600"):
        read_key_file(key_file(tmp_path / "kek", TEXT, mode))


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_our_own_is_read(tmp_path: Path, mode: int) -> None:
    assert read_key_file(key_file(tmp_path / "kek", TEXT, mode)).raw.hex() == TEXT


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = key_file(tmp_path / "kek", TEXT)
    os.chown(path, 12345, 12345)
    with pytest.raises(KeyFileError, match="another user"):
        read_key_file(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"cannot open .*No such file"):
        read_key_file(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(KeyFileError, match="not a regular file"):
        read_key_file(tmp_path / "pipe")
    with pytest.raises(KeyFileError, match=r"regular file|cannot open"):
        read_key_file(tmp_path)


def test_a_new_key_file_is_ours_alone_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    kek = create_key_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    provider = open_provider(f"local:{path}")
    assert isinstance(provider, LocalProvider)
    assert provider.kek == kek
    assert str(tmp_path) not in kek
    with pytest.raises(KeyFileError, match="exists already"):
        create_key_file(path)
    with pytest.raises(KeyFileError, match="cannot write"):
        create_key_file(tmp_path / "no" / "kek")


def test_a_key_file_that_could_not_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(KeyFileError, match="No space"):
            create_key_file(tmp_path / "kek")
    assert list(tmp_path.iterdir()) == []
    create_key_file(tmp_path / "kek")
    assert [path.name for path in tmp_path.iterdir()] == ["kek"]


def test_a_key_file_has_its_name_only_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a process that ends in between leaves a file that is no key and is never written over."""
    sizes: list[int] = []
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        sizes.extend(path.stat().st_size for path in tmp_path.iterdir() if path.name == "kek")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    create_key_file(tmp_path / "kek")
    assert sizes == [65]


@pytest.mark.parametrize("uri", ["local:", "other:x"])
def test_a_local_key_is_named_by_a_path(uri: str) -> None:
    with pytest.raises(KeyFileError, match="local:PATH"):
        LocalProvider.from_uri(uri)


PASSPHRASE = SecretText("correct horse battery staple")
CHEAP = Argon2id(memory_kib=7168, iterations=1, lanes=1)


def test_a_key_file_can_have_a_passphrase(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    kek = create_key_file(path, passphrase=PASSPHRASE, kdf=CHEAP)
    assert path.stat().st_mode & 0o777 == 0o600
    assert is_passphrase_protected(path)
    provider = open_provider(f"local:{path}", ProviderSettings(passphrase=PASSPHRASE))
    assert isinstance(provider, LocalProvider)
    assert provider.kek == kek
    with pytest.raises(WrongPassphraseError):
        open_provider(f"local:{path}", ProviderSettings(passphrase=SecretText("another")))
    with pytest.raises(MisconfiguredError, match="has a passphrase: give it in the settings"):
        open_provider(f"local:{path}")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(KeyFileError, match="is damaged"):
        open_provider(f"local:{path}", ProviderSettings(passphrase=PASSPHRASE))


def test_a_plain_file_in_the_place_of_a_protected_one_is_noticed(tmp_path: Path) -> None:
    """Somebody who can write the file must not have us wrap under a key of theirs."""
    path = key_file(tmp_path / "kek", TEXT)
    assert not is_passphrase_protected(path)
    with pytest.raises(MisconfiguredError, match="has no passphrase, but one is given") as raised:
        open_provider(f"local:{path}", ProviderSettings(passphrase=PASSPHRASE))
    assert TEXT not in frames_of(raised.value)


def test_a_file_that_is_refused_for_its_passphrase_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="at least 15 characters"):
        create_key_file(tmp_path / "kek", passphrase=SecretText("short"), kdf=CHEAP)
    assert not (tmp_path / "kek").exists()


def test_the_newest_key_is_the_one_that_wraps() -> None:
    provider = LocalProvider(KEY)
    wrapped = provider.wrap(KEY, b"p")
    assert provider.newest() == (wrapped.kek, wrapped.kek_version)


def test_a_file_that_goes_away_is_missed_at_the_next_start(tmp_path: Path) -> None:
    create_key_file(tmp_path / "kek")
    provider = LocalProvider.from_uri(f"local:{tmp_path / 'kek'}")
    wrapped = provider.wrap(KEY, b"place")
    (tmp_path / "kek").unlink()
    assert provider.unwrap([(wrapped, b"place")]) == [KEY]
    with pytest.raises(KeyFileError, match="No such file"):
        LocalProvider.from_uri(f"local:{tmp_path / 'kek'}")


def test_it_opens_what_its_own_key_wrapped_and_nothing_else() -> None:
    one, other = LocalProvider(SecretKey(bytes(32))), LocalProvider(SecretKey(bytes([1] * 32)))
    assert one.opens(one.kek) is Opens.SURELY
    assert one.opens(other.kek) is one.opens("local:") is one.opens("hcvault://h:8200/t/keys/k") is Opens.NO


def test_its_file_can_be_removed_which_says_nothing_of_copies(tmp_path: Path) -> None:
    kek = create_key_file(tmp_path / "kek")
    provider = LocalProvider.from_uri(f"local:{tmp_path / 'kek'}")
    with pytest.raises(CannotUnwrapError, match="local:other is not the key of a file"):
        provider.destroy_kek("local:other", waiting_days=30, now=NOW)
    provider.require_destroyable(kek)
    for _ in range(2):
        end = provider.destroy_kek(kek, waiting_days=30, now=NOW)
        assert not (tmp_path / "kek").exists()
        assert (end.kek, end.effective, end.final) == (kek, NOW, False)
        assert "copies are not known" in end.remains
    with pytest.raises(CannotUnwrapError, match="by hand"):
        LocalProvider(SecretKey(bytes(32))).require_destroyable(LocalProvider(SecretKey(bytes(32))).kek)
