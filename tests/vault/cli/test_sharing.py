"""Who shares a command's jobs: nobody on SQLite, nobody who would have to be asked for a passphrase."""

from kms.passphrase_file import PassphraseKdf  # noqa: F401
from tests.vault.cli.conftest import Run
from vault.cli.sharing import cores


def test_sqlite_has_one_writer(loaded: Run) -> None:
    for words in (("--workers", "2"), ("--dask", "tls://localhost:1")):
        refused = loaded("reencrypt", *words)
        assert (refused.status, "SQLite has one writer" in refused.err) == (1, True)
    assert loaded("reencrypt", "--workers", "1").status == 0


def test_there_is_a_core() -> None:
    assert cores() >= 1
