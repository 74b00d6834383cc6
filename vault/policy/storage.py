"""Storage: where the records, the keys and the ledger are kept, and which key-encryption key opens them."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from vault.policy.length import Length
from vault.policy.section import Section

__all__ = ["NOTHING_TO_HIDE", "Storage", "holds_secret", "placed_kek"]

KEK_EXPECTED: Final = "expected a key's URI: local:PATH, hcvault://HOST:PORT/transit/keys/NAME or pkcs11:..."
# The URI is printed and stored, so that a secret in it would be too.
NOTHING_TO_HIDE: Final = (
    "no key, token, password or PIN goes into a key's URI: name its file, or give it by the environment"
)
_SECRET: Final = re.compile(
    r"local:(.*/)?[0-9a-f]{64}|hcvault:.*[@?#].*|awskms:.*@.*|pkcs11:.*[;?&]pin-value=.*", re.IGNORECASE | re.DOTALL
)
# Database URLs may hold a password, so that no repr shows them.
_Address = Annotated[str, Field(repr=False, min_length=1)]


class Storage(Section):
    """The [vault] section. After `placed`, paths are absolute and `keys` and `ledger` are never None.

    kek: wraps data keys. kek_former: others that stored data keys may be wrapped by; they open and never wrap.
    sealing_lease: for how many seconds a process relies on what it read of the key store; no less than any service's.
    backup_retention: the age at which the last backup of data and keys is gone. replica_lag: how far a replica, from
    which data may come back, is behind at most. None: not declared.
    """

    database: _Address
    keys: Annotated[str | None, Field(repr=False, min_length=1)] = None
    ledger: Annotated[str | None, Field(repr=False, min_length=1)] = None
    kek: Annotated[str, Field(min_length=1)]
    kek_former: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)] = ()
    keyring: Annotated[str, Field(min_length=1)] = "main"
    sealing_lease: Annotated[int, Field(ge=1, le=3600)] = 180
    backup_retention: Length | None = None
    replica_lag: Length | None = None

    @property
    def declared_wait(self) -> timedelta | None:
        """How long what was replaced may come back from backups and replicas; None where neither is declared."""
        if self.backup_retention is None and self.replica_lag is None:
            return None
        return (self.backup_retention or timedelta(0)) + (self.replica_lag or timedelta(0))

    @property
    def keys_url(self) -> str:
        """The SQLAlchemy URL of the keys and counters."""
        return self.keys or self.database

    @property
    def ledger_url(self) -> str:
        """The SQLAlchemy URL of the ledger."""
        return self.ledger or self.database

    def missing_files(self) -> dict[str, Path]:
        """The SQLite files that a placed storage names and that are not there: database, keys or ledger, and where."""
        urls = {"database": self.database, "keys": self.keys_url, "ledger": self.ledger_url}
        files = {name: Path(str(make_url(url).database)) for name, url in urls.items() if _is_sqlite(make_url(url))}
        return {name: file for name, file in files.items() if not file.exists()}

    def placed(self, folder: Path) -> "tuple[Storage, list[tuple[str, str]]]":
        """The same storage seen from the policy's folder, and the faults found: (key, what is wrong)."""
        faults: list[tuple[str, str]] = []
        urls: dict[str, URL] = {}
        for name in ("database", "keys", "ledger"):
            text = getattr(self, name) or _beside(urls.get("database"), name)
            if text is None:
                continue
            url = _read(text)
            if url is None:
                faults.append((name, "expected an SQLAlchemy URL such as sqlite:///health.db"))
            elif _is_sqlite(url) and not _is_file(url):
                faults.append((name, "SQLite in memory keeps nothing; name a file, such as sqlite:///health.db"))
            else:
                urls[name] = _absolute(url, folder)
        files = [url.database for url in urls.values() if _is_sqlite(url)]
        if len(set(files)) != len(files):
            faults.append(("database", "on SQLite, database, keys and ledger are three files; name three"))
        for name, uri in (("kek", self.kek), *(("kek_former", former) for former in self.kek_former)):
            if ":" not in uri:
                faults.append((name, KEK_EXPECTED))
            elif holds_secret(uri):
                faults.append((name, NOTHING_TO_HIDE))
        keks = [placed_kek(uri, folder) for uri in (self.kek, *self.kek_former)]
        if len(set(keks)) != len(keks):
            faults.append(("kek_former", "a key-encryption key is named twice; kek itself is not named here again"))
        placed = {name: url.render_as_string(hide_password=False) for name, url in urls.items()}
        return self.model_copy(update={**placed, "kek": keks[0], "kek_former": tuple(keks[1:])}), faults


def _read(text: str) -> URL | None:
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        return None


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _is_file(url: URL) -> bool:
    return bool(url.database) and url.database != ":memory:" and not str(url.database).startswith("file:")


def _absolute(url: URL, folder: Path) -> URL:
    return url.set(database=str(folder / str(url.database))) if _is_sqlite(url) else url


def _beside(database: URL | None, name: str) -> str | None:
    """The file for keys or ledger when none is named: health.db has health.keys.db. None on a server."""
    if database is None or not _is_sqlite(database):
        return None
    file = Path(str(database.database))
    return database.set(database=str(file.with_suffix(f".{name}{file.suffix or '.db'}"))).render_as_string()


def holds_secret(uri: str) -> bool:
    """Whether a key's URI has a place for a secret in it, where no such URI has one."""
    return _SECRET.fullmatch(uri.strip()) is not None


def placed_kek(uri: str, folder: Path) -> str:
    """The URI of a key-encryption key seen from the policy's folder."""
    scheme, _, rest = uri.strip().partition(":")
    return f"local:{folder / rest}" if scheme.lower() == "local" and rest else uri
