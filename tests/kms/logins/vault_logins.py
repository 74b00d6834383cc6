"""Auth methods on a running OpenBao, and a client that answers from a script."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import hvac

from kms.errors import KmsError, UnavailableError
from kms.logins.grant import Grant
from kms.logins.login import Connect
from kms.logins.session import LoginSession
from kms.secret import SecretText
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import Transit


@dataclass
class AppRoleOnServer:
    """A role of its own that may use the test's Transit key."""

    transit: Transit
    name: str
    mount: str

    @classmethod
    def create(cls, transit: Transit, mount: str | None = None, **settings: Any) -> "AppRoleOnServer":
        mount = mount or f"approle-{secrets.token_hex(4)}"
        transit.root.sys.enable_auth_method("approle", path=mount)
        role = cls(transit, f"r{secrets.token_hex(4)}", mount)
        transit.root.write_data(
            f"auth/{mount}/role/{role.name}", data={"token_policies": [policy_on(transit)]} | settings
        )
        return role

    @property
    def role_id(self) -> str:
        return str(self.transit.root.read(f"auth/{self.mount}/role/{self.name}/role-id")["data"]["role_id"])

    def secret_id(self) -> str:
        answer = self.transit.root.write_data(f"auth/{self.mount}/role/{self.name}/secret-id", data={})
        return str(answer["data"]["secret_id"])

    def wrapping_token(self) -> str:
        path = f"auth/{self.mount}/role/{self.name}/secret-id"
        return str(self.transit.root.write_data(path, data={}, wrap_ttl="60s")["wrap_info"]["token"])


def policy_on(transit: Transit) -> str:
    """A policy that wraps and unwraps by the test's key and does nothing else."""
    name = f"p{secrets.token_hex(4)}"
    rules = {"keys/kek": "read", "encrypt/kek": "update", "decrypt/kek": "update"}
    text = "\n".join(f'path "{transit.mount}/{path}" {{ capabilities = ["{what}"] }}' for path, what in rules.items())
    transit.root.sys.create_or_update_policy(name, text)
    return name


def connect_to(transit: Transit) -> Connect:
    def connect(token: SecretText) -> hvac.Client:
        return hvac.Client(url=transit.server.url, token=token.reveal(), timeout=10, cert="")

    return connect


@dataclass
class ScriptedServer:
    """Counts what it is asked. Tokens are t1, t2, ...; those in `dead` are refused."""

    seconds: int = 60
    renewable: bool = True
    renewed_seconds: int = 60
    renewal_fails: Exception | None = None
    asked: list[str] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)
    logins: int = 0

    def connect(self, token: SecretText) -> "ScriptedClient":
        return ScriptedClient(self, token.reveal())


@dataclass(eq=False)
class ScriptedClient:
    server: ScriptedServer
    token: str

    def read(self, path: str) -> Any:
        self.server.asked.append(path)
        if self.token in self.server.dead:
            raise hvac.exceptions.Forbidden("permission denied")
        return {"data": {}}

    def write_data(self, path: str, *, data: Mapping[str, Any]) -> Any:
        self.server.asked.append(path)
        if self.server.renewal_fails is not None:
            raise self.server.renewal_fails
        return auth(self.token, self.server.renewed_seconds)


def auth(token: str, seconds: int, renewable: bool = True) -> dict[str, Any]:
    return {"auth": {"client_token": token, "lease_duration": seconds, "renewable": renewable}}


@dataclass
class ScriptedLogin:
    server: ScriptedServer
    advice: str = "look into the script"
    fails: Exception | None = None
    before: Callable[[], None] = lambda: None

    def log_in(self, connect: Connect) -> Grant:
        self.before()
        self.server.logins += 1
        if self.fails is not None:
            raise self.fails
        return Grant.of(auth(f"t{self.server.logins}", self.server.seconds, self.server.renewable))


def session_on(login: ScriptedLogin, clock: ManualClock) -> LoginSession:
    return LoginSession(login, login.server.connect, _explain, "hcvault://here", clock)


def _explain(raised: Exception) -> KmsError:
    return UnavailableError(f"explained: {type(raised).__name__}")
