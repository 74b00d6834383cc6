"""An account of AWS KMS in an imitation, and answers of AWS put in where the imitation never gives them."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse

from kms.patience import Patience
from kms.provider import wrap_context
from kms.provider_settings import ProviderSettings
from kms.providers.awskms import AwsKmsProvider

REGION = "eu-central-1"
ACCOUNT = "123456789012"
KEYRING_ID = bytes(range(16))


def place(sequence: int = 1, purpose: str = "data") -> bytes:
    """The context of one data key."""
    return wrap_context(KEYRING_ID, purpose, sequence.to_bytes(4, "big"), sequence)


@dataclass
class Aws:
    """url: where the imitation listens. Its keys are shared by all tests, so each makes its own."""

    url: str

    @property
    def admin(self) -> Any:
        return _admin(self.url)

    def create_key(self, **settings: Any) -> str:
        """The ARN of a new key."""
        return str(self.admin.create_key(**settings)["KeyMetadata"]["Arn"])

    def settings(self, **more: Any) -> ProviderSettings:
        return ProviderSettings(**({"aws_endpoint": self.url, "allow_plain_http_to_loopback": True} | more))

    def provider(self, uri: str, patience: Patience | None = None, **more: Any) -> AwsKmsProvider:
        """uri: also the bare ARN of a key. It does not wait between attempts."""
        patience = patience or Patience(attempts=3, sleep=lambda _: None)
        opened = AwsKmsProvider.from_uri(uri if "://" in uri else f"awskms://{uri}", self.settings(**more))
        opened._patience = patience
        return opened


@cache
def _admin(url: str) -> Any:
    return boto3.Session("AKIAEXAMPLE", "hunter2", region_name=REGION).client("kms", endpoint_url=url)


class _Raw(io.BytesIO):
    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


def answers(provider: AwsKmsProvider, operation: str, answer: Callable[[Any], AWSResponse | None]) -> None:
    """From now on the answer to an operation ("*" for each) of this provider's client, or the server's if None."""
    client: Any = provider._connected()
    client.meta.events.register_first(f"before-send.kms.{operation}", lambda request, **_: answer(request))


def injected(code: str, status: int = 400, body: bytes | None = None) -> Callable[[Any], AWSResponse]:
    """The answer that AWS documents for an error code; the client makes its real exception of it."""
    content = json.dumps({"__type": code, "message": "injected"}).encode() if body is None else body
    headers = {"content-type": "application/x-amz-json-1.1"}
    return lambda request: AWSResponse(request.url, status, headers, _Raw(content))


def sent_by(provider: AwsKmsProvider) -> list[tuple[str, dict[str, Any]]]:
    """Grows by (operation, members) with each request the provider's client sends from now on."""
    sent: list[tuple[str, dict[str, Any]]] = []

    def note(request: Any) -> None:
        operation = request.headers["X-Amz-Target"]
        name = operation.decode() if isinstance(operation, bytes) else operation
        sent.append((name.rpartition(".")[2], json.loads(request.body)))

    answers(provider, "*", note)
    return sent


@contextmanager
def failing(provider: AwsKmsProvider, code: str, status: int = 400) -> Iterator[None]:
    """Within it, each request of the provider's client is answered by an injected error."""
    client: Any = provider._connected()
    give = injected(code, status)

    def handler(request: Any, **_: Any) -> AWSResponse:
        return give(request)

    client.meta.events.register_first("before-send.kms", handler)
    try:
        yield
    finally:
        client.meta.events.unregister("before-send.kms", handler)
