"""A provider is opened from a URI; what cannot be opened says what to write."""

from pathlib import Path

import pytest

from kms.errors import KeyFileError, KmsError, MisconfiguredError, UnknownProviderError
from kms.open_provider import open_provider, open_routed
from kms.provider_settings import ProviderSettings
from kms.providers.awskms import AwsKmsProvider
from kms.providers.hcvault import TransitProvider
from kms.providers.local import LocalProvider, create_key_file
from kms.secret import SecretKey, SecretText

SETTINGS = ProviderSettings(token=SecretText("s.hunter2"))


def test_the_scheme_chooses_the_provider(tmp_path: Path) -> None:
    create_key_file(tmp_path / "kek")
    assert isinstance(open_provider(f"local:{tmp_path / 'kek'}"), LocalProvider)
    assert isinstance(open_provider("hcvault://vault.example.org/transit/keys/main", SETTINGS), TransitProvider)
    assert isinstance(open_provider("awskms://alias/app?region=eu-central-1"), AwsKmsProvider)


@pytest.mark.parametrize("uri", ["", "kek", "gcpkms://projects/x", "vault.example.org:8200/transit/keys/main"])
def test_another_scheme_is_refused_with_those_there_are(uri: str) -> None:
    with pytest.raises(
        UnknownProviderError, match=r"write local:PATH or hcvault://HOST.* or pkcs11:.* or awskms://arn"
    ):
        open_provider(uri)


@pytest.mark.parametrize(
    ("uri", "error"),
    [("hcvault://[::1/transit/keys/main", MisconfiguredError), ("local://[x", KeyFileError), ("x://[", KmsError)],
)
def test_k13_10_a_bracket_that_is_not_closed_is_an_error_of_ours(uri: str, error: type[KmsError]) -> None:
    with pytest.raises(error):
        open_provider(uri, SETTINGS)


def test_a_missing_key_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot open"):
        open_provider(f"local:{tmp_path / 'kek'}")


def test_a_token_is_needed_and_is_not_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".vault-token").write_text("ambient")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULT_TOKEN", "ambient")
    with pytest.raises(MisconfiguredError, match="needs a token or a login in the settings"):
        open_provider("hcvault://vault.example.org/transit/keys/main")


def test_the_token_is_not_printed() -> None:
    provider = open_provider("hcvault://vault.example.org/transit/keys/main", SETTINGS)
    assert "hunter2" not in f"{SETTINGS!r} {provider!r} {provider}"


def test_former_keks_are_opened_by_the_same_settings_or_their_own(tmp_path: Path) -> None:
    secret = SecretText("correct horse battery staple")
    create_key_file(tmp_path / "plain")
    create_key_file(tmp_path / "protected", passphrase=secret)
    plain, protected = f"local:{tmp_path / 'plain'}", f"local:{tmp_path / 'protected'}"
    routed = open_routed(plain, formers=[(protected, ProviderSettings(passphrase=secret))])
    former = open_provider(protected, ProviderSettings(passphrase=secret))
    key = SecretKey(bytes(32))
    assert routed.unwrap([(former.wrap(key, b""), b""), (routed.wrap(key, b""), b"")]) == [key, key]
    with pytest.raises(MisconfiguredError, match="has a passphrase"):
        open_routed(plain, formers=[protected])
    same = open_routed("hcvault://one/transit/keys/main", SETTINGS, ["hcvault://two/transit/keys/main"])
    assert [type(provider) for provider in (same.first, *same.formers)] == [TransitProvider] * 2
