"""A real Transit key is deleted, when its guard and the policy allow it, and being asked again is no failure."""

from datetime import UTC, datetime

import pytest

from kms.errors import AccessDeniedError, CannotUnwrapError, KeyNotFoundError, MisconfiguredError
from kms.secret import SecretKey
from tests.kms.providers.transit import Transit

pytestmark = pytest.mark.openbao
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def allow(transit: Transit) -> None:
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"deletion_allowed": True})


def test_a_guarded_key_stays_and_the_command_that_allows_it_is_told(transit: Transit) -> None:
    provider = transit.provider()
    for ask in (provider.require_destroyable, lambda kek: provider.destroy_kek(kek, waiting_days=30, now=NOW)):
        with pytest.raises(
            MisconfiguredError, match=f"bao write {transit.mount}/keys/kek/config deletion_allowed=true"
        ):
            ask(transit.uri())
    provider.wrap(SecretKey(bytes(32)), b"place")


def test_the_key_is_deleted_at_once_and_again_is_no_failure(transit: Transit) -> None:
    provider = transit.provider()
    wrapped = provider.wrap(SecretKey(bytes(32)), b"place")
    allow(transit)
    for _ in range(2):
        provider.require_destroyable(transit.uri())
        end = provider.destroy_kek(transit.uri(), waiting_days=30, now=NOW)
        assert (end.kek, end.effective, end.final) == (transit.uri(), NOW, True)
        assert "backups of the server" in end.remains
    with pytest.raises(KeyNotFoundError):
        provider.unwrap([(wrapped, b"place")])


def test_a_login_of_an_application_is_denied(transit: Transit) -> None:
    allow(transit)
    reader = transit.provider(token=transit.token(("keys/kek", "read"), ("decrypt/kek", "update")))
    reader.require_destroyable(transit.uri())
    with pytest.raises(AccessDeniedError):
        reader.destroy_kek(transit.uri(), waiting_days=30, now=NOW)
    with pytest.raises(AccessDeniedError):
        transit.provider(token=transit.token()).require_destroyable(transit.uri())
    transit.provider().wrap(SecretKey(bytes(32)), b"place")


def test_only_the_very_key_is_deleted(transit: Transit) -> None:
    allow(transit)
    path = transit.uri().partition("://")[2].partition("/")[2]
    for kek in (f"hcvault://elsewhere:8200/{path}", transit.uri("other"), "local:8963"):
        with pytest.raises(CannotUnwrapError, match="is not surely"):
            transit.provider().destroy_kek(kek, waiting_days=30, now=NOW)
    transit.provider().wrap(SecretKey(bytes(32)), b"place")
