"""The JWT login against a running OpenBao, with keys that the test makes."""

import base64
import json
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kms.errors import AccessDeniedError, KeyFileError
from kms.logins.jwt import Jwt
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import ScriptedServer, policy_on
from tests.kms.providers.transit import Transit, frames_of

KEY = SecretKey(bytes(range(32)))


class Authority:
    """Signs what it is told to, as a CI system's issuer does."""

    def __init__(self, transit: Transit) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.mount = f"jwt-{secrets.token_hex(4)}"
        public = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        transit.root.sys.enable_auth_method("jwt", path=self.mount)
        transit.root.write_data(f"auth/{self.mount}/config", data={"jwt_validation_pubkeys": [public]})
        role = {
            "role_type": "jwt",
            "user_claim": "sub",
            "bound_audiences": ["noisevault"],
            "token_policies": [policy_on(transit)],
            "token_ttl": "2s",
        }
        transit.root.write_data(f"auth/{self.mount}/role/app", data=role)

    def sign(self, *, lives: float = 300, audience: str = "noisevault") -> str:
        now = int(time.time())
        claims = {"sub": "job", "aud": audience, "iat": now - 600, "nbf": now - 600, "exp": now + lives}
        parts = b".".join(_url64(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, claims))
        r, s = utils.decode_dss_signature(self.key.sign(parts, ec.ECDSA(hashes.SHA256())))
        return (parts + b"." + _url64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()


def _url64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


@pytest.mark.openbao
def test_a_signed_statement_logs_in_and_its_token_is_renewed(transit: Transit) -> None:
    authority = Authority(transit)
    provider = transit.provider(login=Jwt("app", SecretText(authority.sign()), authority.mount))
    wrapped = provider.wrap(KEY, b"p")
    end = time.monotonic() + 3.5
    while time.monotonic() < end:
        assert provider.unwrap([(wrapped, b"p")]) == [KEY]
        time.sleep(0.1)
    assert provider._logins._attempts == 1


@pytest.mark.openbao
def test_the_file_is_read_anew_for_each_login(transit: Transit, tmp_path: Path) -> None:
    authority, file = Authority(transit), tmp_path / "jwt"
    file.touch(0o600)
    file.write_text(authority.sign() + "\n")
    provider = transit.provider(login=Jwt("app", file, authority.mount))
    wrapped = provider.wrap(KEY, b"p")
    file.write_text(authority.sign(lives=-300))
    held = provider._logins._held
    assert held is not None
    transit.root.auth.token.revoke(held.grant.token.reveal())
    with pytest.raises(AccessDeniedError, match="whether it has expired"):
        provider.unwrap([(wrapped, b"p")])
    file.write_text(authority.sign())
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


@pytest.mark.openbao
@pytest.mark.parametrize("wrong", ["role", "expired", "audience", "signature", "no JWT"])
def test_a_statement_that_is_not_taken_is_denied_with_what_to_check(transit: Transit, wrong: str) -> None:
    authority = Authority(transit)
    jwt = {
        "expired": authority.sign(lives=-300),
        "audience": authority.sign(audience="another"),
        "signature": authority.sign()[:-8] + "AAAAAAAA",
        "no JWT": "hunter2",
    }.get(wrong, authority.sign())
    role = "nobody" if wrong == "role" else "app"
    provider = transit.provider(login=Jwt(role, SecretText(jwt), authority.mount))
    with pytest.raises(AccessDeniedError, match=f"check that role '{role}' of auth/jwt-") as raised:
        provider.wrap(KEY, b"p")
    assert jwt not in frames_of(raised.value)
    assert raised.value.__context__ is None


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "jwt"
    file.touch(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        Jwt("app", file).log_in(ScriptedServer().connect)


def test_plain_text_is_refused_and_secrets_are_not_shown() -> None:
    plain: Any = "hunter2"
    with pytest.raises(TypeError, match="SecretText") as raised:
        Jwt("app", plain)
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(Jwt("app", SecretText("hunter2")))
