"""The mount of an auth method is a plain path."""

import pytest

from kms.logins.auth_mount import login_path, require_auth_mount


@pytest.mark.parametrize("mount", ["approle", "team/one/approle", "jwt-2_b.c"])
def test_a_login_is_sent_below_auth(mount: str) -> None:
    require_auth_mount(mount)
    assert login_path(mount) == f"auth/{mount}/login"


@pytest.mark.parametrize(
    "mount", ["", "auth/approle", "/approle", "approle/", "a//b", "../sys", "a/../b", "a?b", "a%2f"]
)
def test_what_would_be_sent_elsewhere_is_refused(mount: str) -> None:
    with pytest.raises(ValueError, match="without 'auth/'"):
        require_auth_mount(mount)
