from pathlib import Path

import pytest

from tests.vault.policy.example import EXAMPLE, example_policy, faults_after
from vault.policy import Policy, PolicyFaultsError

SERVER = "postgresql+psycopg://vault:sesame-31@db:5432/health"


def test_sqlite_files_and_key_files_lie_beside_the_policy() -> None:
    policy = example_policy()
    assert policy.database_url == "sqlite:////srv/health/health.db"
    assert policy.vault.kek == "local:/srv/health/health.kek"


def test_on_sqlite_keys_and_ledger_are_files_of_their_own() -> None:
    policy = example_policy()
    assert policy.keys_url == "sqlite:////srv/health/health.keys.db"
    assert policy.ledger_url == "sqlite:////srv/health/health.ledger.db"


def test_on_a_server_keys_and_ledger_are_in_the_same_database() -> None:
    policy = Policy.read(EXAMPLE.replace("sqlite:///health.db", SERVER), Path("/srv"))
    assert policy.database_url == policy.keys_url == policy.ledger_url == SERVER


def test_named_places_are_kept() -> None:
    text = EXAMPLE.replace("[vault]", '[vault]\nkeys = "sqlite:////var/k.db"\nledger = "sqlite:///sub/l.db"')
    policy = Policy.read(text, Path("/srv"))
    assert (policy.keys_url, policy.ledger_url) == ("sqlite:////var/k.db", "sqlite:////srv/sub/l.db")


def test_an_absolute_path_and_a_key_in_a_kms_are_left_as_they_are() -> None:
    text = EXAMPLE.replace("sqlite:///", "sqlite:////data/").replace("local:health.kek", "hcvault://h:8200/t/keys/k")
    policy = Policy.read(text, Path("/srv"))
    assert policy.database_url == "sqlite:////data/health.db"
    assert policy.vault.kek == "hcvault://h:8200/t/keys/k"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    (fault,) = faults_after(("sqlite:///health.db", url))
    assert fault.startswith("vault.database: SQLite in memory")


def test_one_file_for_two_things_is_refused() -> None:
    faults = faults_after(("[vault]", '[vault]\nledger = "sqlite:///health.db"'))
    assert faults == ("vault.database: on SQLite, database, keys and ledger are three files; name three",)


def test_what_is_no_url_or_no_key_is_refused() -> None:
    faults = faults_after(("sqlite:///health.db", "health.db"), ("local:health.kek", "health.kek"))
    assert [fault.split(":")[0] for fault in faults] == ["vault.database", "vault.kek"]


def test_a_database_password_is_in_no_repr_and_no_fault() -> None:
    policy = Policy.read(EXAMPLE.replace("sqlite:///health.db", SERVER), Path("/srv"))
    assert "sesame" not in repr(policy)
    assert "sesame" not in str(policy)
    for text in (SERVER.replace("5432", "port"), "//" + SERVER):
        with pytest.raises(PolicyFaultsError) as caught:
            Policy.read(EXAMPLE.replace("sqlite:///health.db", text), Path("/srv"))
        assert "sesame" not in str(caught.value)
        assert caught.value.__context__ is None


def test_files_that_are_not_there_are_named_and_a_server_has_none(tmp_path: Path) -> None:
    storage = Policy.read(EXAMPLE, tmp_path).vault
    assert storage.missing_files() == {
        "database": tmp_path / "health.db",
        "keys": tmp_path / "health.keys.db",
        "ledger": tmp_path / "health.ledger.db",
    }
    (tmp_path / "health.keys.db").touch()
    assert set(storage.missing_files()) == {"database", "ledger"}
    assert not Policy.read(EXAMPLE.replace("sqlite:///health.db", SERVER), tmp_path).vault.missing_files()


def test_former_keys_are_seen_from_the_policys_folder() -> None:
    policy = Policy.read(
        EXAMPLE.replace("[vault]", '[vault]\nkek_former = ["local:old.kek", "hcvault://h/t/keys/k"]'), Path("/srv")
    )
    assert policy.vault.kek_former == ("local:/srv/old.kek", "hcvault://h/t/keys/k")
    assert example_policy().vault.kek_former == ()


@pytest.mark.parametrize(
    ("former", "fault"),
    [
        ("old.kek", "expected a key's URI"),
        ("local:health.kek", "named twice"),
        ("local:a", "named twice"),
    ],
)
def test_a_former_key_is_another_one_and_has_a_uri(former: str, fault: str) -> None:
    faults = faults_after(("[vault]", f'[vault]\nkek_former = ["{former}", "local:a"]'))
    assert [fault.split(":")[0] for fault in faults] == ["vault.kek_former"]
    assert fault in faults[0]


SECRET_URIS = [
    "hcvault://vault:sesame-31@h:8200/transit/keys/k",
    "hcvault://h:8200/transit/keys/k?token=sesame-31",
    "awskms://AKIA:sesame-31@alias/app?region=eu-central-1",
    "pkcs11:token=t;object=k?module-path=/usr/lib/m.so&pin-value=sesame-31",
    "local:" + "5e5a3e31" * 8,
    "local:/etc/" + "5E5A3E31" * 8,
]


@pytest.mark.parametrize("uri", SECRET_URIS)
@pytest.mark.parametrize("place", ["kek", "kek_former"])
def test_k14_a_login_in_a_keys_uri_is_refused_and_not_repeated(uri: str, place: str) -> None:
    """It would be printed by every command that tells where the keys are."""
    change = uri if place == "kek" else f'local:health.kek"\nkek_former = ["{uri}"]\nkeyring = "main'
    (fault,) = faults_after(("local:health.kek", change))
    assert fault.startswith(f"vault.{place}: no key, token, password or PIN goes into a key's URI")
    assert "sesame" not in fault
    assert "5e5a3e31" not in fault.lower()
