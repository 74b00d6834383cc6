"""A Transit mount for each test."""

import secrets
from collections.abc import Iterator

import pytest

from tests.kms.providers.transit import Transit, transit_on
from tests.servers.openbao import BaoDev


@pytest.fixture
def transit(bao: BaoDev) -> Iterator[Transit]:
    with transit_on(bao, f"team/{secrets.token_hex(4)}/transit") as transit:
        transit.create()
        yield transit
