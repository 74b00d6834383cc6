"""How often a keyring asks its key service, at the audit log of a real OpenBao, and what a look at a held key costs."""

import runpy
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hvac

from kms import KeyProvider, Keyring, KeyStore, ProviderSettings, Purpose, SecretText, open_key_database, open_provider
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.counted import Count
from vault.definitions.definition import FieldDefinition
from vault.field import Field

if TYPE_CHECKING:
    from tests.servers.openbao import BaoDev

# Some peers install a package called tests, so ours is not to be had by its name.
BAO_DEV = runpy.run_path(str(Path(__file__).parents[2] / "tests" / "servers" / "openbao.py"))["bao_dev"]
SEALS = 1_000_000
KEYS = 100
VALUES = [secrets.token_bytes(32) for _ in range(2000)]
DATA = Purpose.DATA


def comparisons() -> Iterator[Comparison | Count]:
    with tempfile.TemporaryDirectory() as name, BAO_DEV(Path(name), audited=True) as server:
        folder = Path(name)
        kek = make_kek(server)
        with keyring_under(kek, server, folder / "many.db") as keyring:
            for _ in range(KEYS - len(Purpose)):
                keyring.lifecycle.prepare(DATA)
            again = Keyring.open(keyring_store(folder / "many.db"), provider(kek, server), "bench")
            yield Count(f"requests to open and warm a keyring of {KEYS} keys", 1, requests(server), again.warm)
            again.close()
        with keyring_under(kek, server, folder / "one.db") as keyring:
            field = Field(FieldDefinition(table="patient", column="scan", codec="bytes/1"), keyring)
            field.seal(VALUES[0])
            yield Count(f"requests in {SEALS:,} seals after the first", 0, requests(server), million(field))
            yield sealing(field, keyring)
            yield opening(field, keyring)


def make_kek(server: "BaoDev") -> str:
    """The URI of a fresh Transit key."""
    root = hvac.Client(url=server.url, token=server.root_token, timeout=10, cert="")
    root.sys.enable_secrets_engine("transit", path="transit")
    root.write_data("transit/keys/bench", data={"derived": True})
    return f"{server.url.replace('http', 'hcvault', 1)}/transit/keys/bench"


@contextmanager
def keyring_under(kek: str, server: "BaoDev", file: Path) -> Iterator[Keyring]:
    store = keyring_store(file)
    store.create_schema()
    keyring = Keyring.create(store, provider(kek, server), "bench")
    yield keyring
    keyring.close()


def keyring_store(file: Path) -> KeyStore:
    return KeyStore(open_key_database(f"sqlite:///{file}"))


def provider(kek: str, server: "BaoDev") -> KeyProvider:
    token = SecretText(server.root_token)
    return open_provider(kek, ProviderSettings(token=token, allow_plain_http_to_loopback=True))


def requests(server: "BaoDev") -> Callable[[], int]:
    """How often the server was asked for anything so far."""
    return lambda: len(server.requests())


def million(field: Field) -> Callable[[], None]:
    def seal() -> None:
        seal, values = field.seal, VALUES
        for _ in range(SEALS // len(values)):
            for value in values:
                seal(value)

    return seal


def sealing(field: Field, keyring: Keyring) -> Comparison:
    held, clock, numbers = field._sealing, keyring.clock, range(len(VALUES))

    def seal() -> None:
        for value in VALUES:
            field.seal(value)

    def empty() -> None:
        for _ in numbers:
            pass

    def look() -> None:
        for _ in numbers:
            cipher = held.cipher
            if clock() >= cipher.leased.until:
                raise TimeoutError

    def ask() -> None:
        for _ in numbers:
            keyring.sealing(DATA)

    variants = {
        "Field.seal, 32 bytes": seal,
        "its look at the held key": look,
        "Keyring.sealing, what is asked when that is over": ask,
        "the loop": empty,
    }
    return Comparison("seal one 32-byte value", variants, operations=len(VALUES))


def opening(field: Field, keyring: Keyring) -> Comparison:
    sealed = [made for value in VALUES if (made := field.seal(value)) is not None]
    openers, clock, head = field._openers, keyring.clock, slice(0, 6)
    key_id = keyring.sealing(DATA).key.key_id

    def open_() -> None:
        for value in sealed:
            field.open(value)

    def look() -> None:
        for value in sealed:
            if clock() >= openers[value[head]].leased.until:
                raise TimeoutError

    def ask() -> None:
        for _ in sealed:
            keyring.opening_lease(DATA, key_id)

    variants = {
        "Field.open, 32 bytes": open_,
        "its look at the held key": look,
        "Keyring.opening_lease, what is asked when that is over": ask,
    }
    return Comparison("open one 32-byte value", variants, operations=len(VALUES))
