"""A Transit engine on a running OpenBao, and a login for each test that wants less than root."""

import base64
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import hvac

from kms.patience import Patience
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.secret import SecretText

# Most tests are of what one request is told.
ONCE = Patience(attempts=1)


class Server(Protocol):
    """A BaoDev or a BaoServer."""

    @property
    def url(self) -> str: ...

    @property
    def root_token(self) -> str: ...

    @property
    def settings(self) -> dict[str, Any]: ...

    def client(self) -> hvac.Client: ...


def while_waiting(*steps: Callable[[], object]) -> Patience:
    """A long deadline; instead of each of the first waits between two attempts, a step."""
    left = list(steps)

    def wait(_: float) -> None:
        if left:
            left.pop(0)()
        else:
            time.sleep(0.05)

    return Patience(deadline=60, sleep=wait)


@dataclass
class Transit:
    """mount: one of its own for each test."""

    server: Server
    mount: str

    @property
    def root(self) -> hvac.Client:
        return self.server.client()

    def create(self, key: str = "kek", **settings: Any) -> None:
        self.root.write_data(f"{self.mount}/keys/{key}", data={"derived": True} | settings)

    def uri(self, key: str = "kek") -> str:
        return f"hcvault:{self.server.url.partition(':')[2]}/{self.mount}/keys/{key}"

    def provider(
        self, key: str = "kek", token: str | None = None, patience: Patience | None = ONCE, **settings: Any
    ) -> TransitProvider:
        """patience: None for what the settings say."""
        secret = None if "login" in settings else SecretText(self.server.root_token if token is None else token)
        given = ProviderSettings(**({"token": secret, "timeout": 10.0} | self.server.settings | settings))
        provider = TransitProvider.from_uri(self.uri(key), given)
        provider._patience = patience or provider._patience
        return provider

    def token(self, *rules: tuple[str, str], **settings: Any) -> str:
        """A token with nothing but these (path below the mount, capability) rules."""
        name = f"p{secrets.token_hex(4)}"
        policy = "\n".join(f'path "{self.mount}/{path}" {{ capabilities = ["{what}"] }}' for path, what in rules)
        self.root.sys.create_or_update_policy(name, policy or 'path "none" { capabilities = ["read"] }')
        return str(self.root.auth.token.create(policies=[name], **settings)["auth"]["client_token"])


@contextmanager
def transit_on(server: Server, mount: str) -> Iterator[Transit]:
    transit = Transit(server, mount)
    transit.root.sys.enable_secrets_engine("transit", path=mount)
    yield transit
    transit.root.sys.disable_secrets_engine(mount)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def frames_of(error: BaseException) -> str:
    """All that an error tracker would print of an error: messages, chains, local variables of every frame."""
    shown = []
    seen: list[BaseException | None] = [error, error.__cause__, error.__context__]
    for one in filter(None, seen):
        shown.append(repr(one) + repr(one.args) + repr(getattr(one, "__dict__", {})))
        frame = one.__traceback__
        while frame is not None:
            if "/kms/" in frame.tb_frame.f_code.co_filename and "/tests/" not in frame.tb_frame.f_code.co_filename:
                shown.append(repr(frame.tb_frame.f_locals))
            frame = frame.tb_next
    return "\n".join(shown)
