"""A backup is read as it is: nothing is written to it, nothing is left beside it."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from kms.errors import KeyringError, MisconfiguredError, SchemaVersionError, UnavailableError
from kms.key_backup import read_backup, read_keyrings
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from tests.open_files import open_files


def file_of(store: KeyStore) -> Path:
    return Path(str(store.engine.url.database))


def copied(store: KeyStore, folder: Path) -> Path:
    """As sqlite3's .backup copies it, in a folder of its own."""
    folder.mkdir()
    with closing(sqlite3.connect(file_of(store))) as live, closing(sqlite3.connect(folder / "copy.db")) as copy:
        live.backup(copy)
    return folder / "copy.db"


def test_it_gives_every_keyring_and_leaves_nothing_behind(
    store: KeyStore, provider: ScriptedProvider, tmp_path: Path
) -> None:
    Keyring.create(store, provider, "main").lifecycle.rotate(Purpose.DATA)
    Keyring.create(store, provider, "another")
    copy = copied(store, tmp_path / "backup")
    before = copy.read_bytes()
    assert before[18:20] == b"\2\2"  # copied in WAL mode, in which SQLite makes files beside it
    expected = [store.load("another"), store.load("main")]
    assert read_backup(str(copy)) == read_backup(f"sqlite:///{copy}") == read_keyrings(store.engine) == expected
    assert copy.read_bytes() == before
    assert [file.name for file in copy.parent.iterdir()] == ["copy.db"]


def test_a_file_and_a_folder_that_cannot_be_written_to_are_read(
    store: KeyStore, keyring: Keyring, tmp_path: Path
) -> None:
    copy = copied(store, tmp_path / "a folder #1?")
    copy.chmod(0o400)
    copy.parent.chmod(0o500)
    try:
        assert read_backup(str(copy)) == [store.load("main")]
        assert stat.S_IMODE(copy.stat().st_mode) == 0o400
    finally:
        copy.parent.chmod(0o700)


def test_a_copy_with_its_log_has_the_keys_that_are_in_the_log(
    store: KeyStore, keyring: Keyring, tmp_path: Path
) -> None:
    keyring.lifecycle.rotate(Purpose.DATA)
    (tmp_path / "backup").mkdir()
    copy = tmp_path / "backup" / "copy.db"
    for end in ("", "-wal"):
        shutil.copyfile(f"{file_of(store)}{end}", f"{copy}{end}")
    log = copy.with_name("copy.db-wal")
    assert log.stat().st_size
    before = copy.read_bytes(), log.read_bytes()
    assert read_backup(str(copy)) == [store.load("main")]
    assert (copy.read_bytes(), log.read_bytes()) == before
    assert sorted(file.name for file in copy.parent.iterdir()) == ["copy.db", "copy.db-wal"]


@pytest.mark.postgres
def test_a_restored_database_is_named_by_its_url(postgres_url: str, provider: ScriptedProvider) -> None:
    store = KeyStore.from_url(postgres_url)
    store.create_schema()
    Keyring.create(store, provider, "main")
    assert read_backup(postgres_url) == [store.load("main")]
    store.close()
    nowhere = make_url(postgres_url).set(database="nowhere").render_as_string(hide_password=False)
    with pytest.raises(UnavailableError):
        read_backup(nowhere)


def test_what_is_no_backup_is_told(store: KeyStore, keyring: Keyring, tmp_path: Path) -> None:
    with pytest.raises(KeyringError, match=r"cannot read the backup .*: No such file"):
        read_backup(str(tmp_path / "none.db"))
    (tmp_path / "packed.gz").write_bytes(b"\x1f\x8b" + bytes(100))
    with pytest.raises(KeyringError, match="is no SQLite file: unpack"):
        read_backup(str(tmp_path / "packed.gz"))
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(SchemaVersionError):
        read_backup(str(tmp_path / "empty.db"))
    copy = copied(store, tmp_path / "backup")
    half = copy.read_bytes()
    copy.write_bytes(half[: len(half) // 2])
    with pytest.raises(KeyringError, match="damaged, or half a copy"):
        read_backup(str(copy))
    with pytest.raises(MisconfiguredError):
        read_backup("mysql://h/d")


def test_a_backup_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    for place in (tmp_path / "pipe.db", tmp_path, Path("/dev/zero")):
        with pytest.raises(KeyringError, match="is no file"):
            read_backup(str(place))


def test_a_backup_with_a_row_that_makes_no_sense_is_not_kept_open(
    store: KeyStore, keyring: Keyring, tmp_path: Path
) -> None:
    copy = copied(store, tmp_path / "backup")
    with closing(sqlite3.connect(copy)) as changed, changed:
        changed.execute("UPDATE noisevault_key SET state = 'asleep'")
    with pytest.raises(KeyringError, match="makes no sense") as refused:
        read_backup(str(copy))
    assert open_files(copy.parent) == set(), refused
