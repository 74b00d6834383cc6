"""What is no file is said at once, and nobody waits for the other end of a pipe."""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kms.errors import KeyFileError, KmsError, MisconfiguredError
from kms.logins import Jwt, Kubernetes, TokenFile
from kms.private_file import read_private_file
from kms.provider_settings import ProviderSettings
from kms.providers.awskms_client import connect as connect_to_aws
from kms.providers.hcvault_tls import TlsFiles
from kms.regular_file import open_regular
from kms.secret import SecretText

READERS: dict[str, Callable[[str], object]] = {
    "key file": lambda path: read_private_file(Path(path), "key file"),
    "token file": lambda path: TokenFile(Path(path)).log_in(_nobody),
    "JWT file": lambda path: Jwt("role", Path(path)).log_in(_nobody),
    "service account token": lambda path: Kubernetes("role", Path(path)).log_in(_nobody),
    "CA file": lambda path: TlsFiles(ProviderSettings(ca_file=path)),
    "client certificate": lambda path: TlsFiles(ProviderSettings(client_cert=path)),
    "CA file for AWS": lambda path: connect_to_aws("eu-central-1", ProviderSettings(ca_file=path)),
}


def _nobody(_: SecretText) -> object:
    raise AssertionError("nobody is to be asked")


def test_a_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        descriptor = open_regular(tmp_path / name)
        assert os.read(descriptor, 100) == b"content"
        os.close(descriptor)


def test_nothing_is_left_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
    os.mkfifo(tmp_path / "pipe")
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "pipe", "not a regular file")):
        with pytest.raises(OSError, match=why):
            open_regular(path)
    assert before is None or len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("given", ["directory", "pipe", "missing", "zero byte"])
def test_k10_04_what_is_no_file_is_told_at_once_whatever_it_is_for(tmp_path: Path, what: str, given: str) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    path = {"directory": tmp_path, "pipe": tmp_path / "pipe", "missing": tmp_path / "no", "zero byte": "a\0b"}[given]
    told: list[KmsError] = []

    def read() -> None:
        try:
            READERS[what](str(path))
        except KmsError as error:
            told.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert not reader.is_alive(), "it waits for the other end of the pipe"
    (error,) = told
    assert isinstance(error, KeyFileError | MisconfiguredError)
    assert re.search("cannot (be read|open)", str(error))
    assert "\n" not in str(error)
