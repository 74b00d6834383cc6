"""A private file is ours alone, is read whole, and is never written over. Who may read it: test_local.py."""

from pathlib import Path

import pytest

from kms.errors import KeyFileError
from kms.private_file import PRIVATE_FILE_MAX_BYTES, read_private_file, remove_private_file, write_private_file
from tests.kms.providers.transit import frames_of


def test_what_is_written_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "pin"
    write_private_file(path, b"1234", "PIN file")
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_private_file(path, "PIN file") == b"1234"
    with pytest.raises(KeyFileError, match="a PIN file is never written over") as raised:
        write_private_file(path, b"5678", "PIN file")
    assert "5678" not in frames_of(raised.value)
    with pytest.raises(KeyFileError, match="cannot write the PIN file") as raised:
        write_private_file(tmp_path / "no" / "pin", b"5678", "PIN file")
    assert "5678" not in frames_of(raised.value)
    assert path.read_bytes() == b"1234"


def test_a_message_says_which_file_of_which_kind(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=f"cannot open the PIN file {tmp_path / 'pin'}: No such file"):
        read_private_file(tmp_path / "pin", "PIN file")


def test_a_file_of_any_other_length_than_a_secret_has_is_not_cut(tmp_path: Path) -> None:
    write_private_file(tmp_path / "most", b"x" * PRIVATE_FILE_MAX_BYTES, "key file")
    assert len(read_private_file(tmp_path / "most", "key file")) == PRIVATE_FILE_MAX_BYTES
    write_private_file(tmp_path / "more", b"x" * (PRIVATE_FILE_MAX_BYTES + 1), "key file")
    with pytest.raises(KeyFileError, match="longer than 4096 bytes"):
        read_private_file(tmp_path / "more", "key file")


def test_what_is_removed_is_gone_and_removing_it_again_is_nothing(tmp_path: Path) -> None:
    write_private_file(tmp_path / "secret", b"x", "key file")
    for _ in range(2):
        remove_private_file(tmp_path / "secret", "key file")
        assert not (tmp_path / "secret").exists()
    with pytest.raises(KeyFileError, match="cannot remove the key file"):
        remove_private_file(tmp_path, "key file")


@pytest.mark.parametrize("secret", ["0a" * 32, "AB" * 32, "hvs.CAESIJ1Yg4Tn2y3Zq7Xw0Lk", "s.4nD8aQz1LmXk2Pv9Rt6YwB3c"])
def test_k14_a_secret_where_a_path_belongs_is_not_repeated(tmp_path: Path, secret: str) -> None:
    for path in (Path(secret), tmp_path / secret):
        with pytest.raises(KeyFileError, match="looks like the secret itself: give the path of a file") as raised:
            read_private_file(path, "token file")
        assert secret not in str(raised.value)


def test_k10_04_a_zero_byte_in_a_path_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="this is not a path"):
        read_private_file(tmp_path / "k\0ek", "key file")
