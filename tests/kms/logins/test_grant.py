"""What the server's answer to a login grants."""

from typing import Any

import pytest

from kms.logins.grant import Grant
from tests.kms.logins.vault_logins import auth


def test_token_lease_and_renewal_are_read() -> None:
    grant = Grant.of(auth("s.hunter2", 60))
    assert (grant.token.reveal(), grant.seconds, grant.renewable) == ("s.hunter2", 60, True)
    assert "hunter2" not in repr(grant)


def test_a_lease_of_zero_has_no_end() -> None:
    assert Grant.of(auth("t", 0, renewable=False)) == Grant(Grant.of(auth("t", 0)).token, None, False)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"auth": None},
        {"auth": {"client_token": "", "lease_duration": 0, "mfa_requirement": {}}},
        {"auth": {"client_token": "t", "lease_duration": "soon"}},
        {"auth": {"client_token": ["t"], "lease_duration": 1}},
    ],
)
def test_an_answer_without_a_token_is_no_grant(answer: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Grant.of(answer)
