"""One question, and the answer in the language of whichever service holds the key."""

import json

import pytest

from kms.access_policy import access_policy
from kms.errors import KmsError, MisconfiguredError, UnknownProviderError
from kms.policies import Role

TRANSIT = "hcvault://vault.example.org/transit/keys"
KEY = "awskms://arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000001"
TOKEN = "pkcs11:token=t;object=k?module-path=/m.so&pin-source=file:/pin"


@pytest.mark.parametrize("role", Role)
def test_the_scheme_chooses_the_language(role: Role) -> None:
    assert access_policy([f"{TRANSIT}/a"], role).startswith(f"# NoiseVault's role {role} for {TRANSIT[:26]}")
    assert json.loads(access_policy([KEY], role))["Version"] == "2012-10-17"


def test_several_keys_of_transit_are_one_policy() -> None:
    policy = access_policy([f"{TRANSIT}/a", f"{TRANSIT}/b"], Role.APP, namespace="team")
    assert 'path "transit/decrypt/a"' in policy
    assert 'path "transit/decrypt/b"' in policy
    assert "-namespace=team" in policy


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("local:kek", ["mode 0600", "owned by the user of the service", "SELECT on noisevault_key"]),
        (TOKEN, ["PIN", "mode 0600", "CKA_SENSITIVE true", "CKA_EXTRACTABLE", "security officer"]),
    ],
)
def test_what_knows_no_roles_is_refused_with_what_to_restrict_instead(uri: str, words: list[str], role: Role) -> None:
    with pytest.raises(MisconfiguredError) as refused:
        access_policy([uri], role)
    assert "\n" not in str(refused.value)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("uris", [[], [KEY, f"{TRANSIT}/a"]])
def test_keys_of_two_services_have_no_policy_together(uris: list[str]) -> None:
    with pytest.raises(MisconfiguredError, match="keys of one service"):
        access_policy(uris, Role.APP)


def test_another_scheme_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownProviderError, match="hcvault://"):
        access_policy(["gcpkms://x"], Role.APP)
    with pytest.raises(KmsError):
        access_policy(["/kek"], Role.APP)
