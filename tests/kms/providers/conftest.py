"""A Transit mount, or a login to an imitated AWS, for each test."""

import secrets
from collections.abc import Iterator

import pytest

from tests.kms.providers.aws import Aws
from tests.kms.providers.transit import Transit, transit_on
from tests.servers.moto import moto_server
from tests.servers.openbao import BaoDev


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"team/{secrets.token_hex(4)}/transit") as transit:
        transit.create()
        yield transit


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture
def aws(moto_url: str, aws_login: None) -> Aws:
    return Aws(moto_url)


@pytest.fixture
def aws_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials in the environment, and none of the machine's own."""
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
