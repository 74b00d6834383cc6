"""A Transit mount, or a login to an imitated AWS, for each test."""

import secrets
from collections.abc import Iterator

import pytest

from tests.kms.providers.aws import Aws
from tests.kms.providers.botocore_files import read_them_once
from tests.kms.providers.transit import Transit, transit_on
from tests.servers.bao_server import BaoServer
from tests.servers.moto import moto_server
from tests.servers.openbao import BaoDev


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"team/{secrets.token_hex(4)}/transit") as transit:
        transit.create()
        yield transit


@pytest.fixture
def tls_transit(bao_tls: BaoServer) -> Iterator[Transit]:
    """On a server that may be sealed, frozen or kept from its audit log."""
    yield from _on(bao_tls)


@pytest.fixture
def raft_transit(bao_raft: BaoServer) -> Iterator[Transit]:
    """On a server that may be killed as well."""
    yield from _on(bao_raft)


def _on(server: BaoServer) -> Iterator[Transit]:
    with transit_on(server, f"transit-{secrets.token_hex(4)}") as transit:
        transit.create()
        yield transit
        server.bring_back()


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    read_them_once()
    with moto_server() as url:
        yield url


@pytest.fixture
def aws(moto_url: str, aws_login: None) -> Aws:
    return Aws(moto_url)


@pytest.fixture
def aws_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials in the environment, and none of the machine's own."""
    read_them_once()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
