"""The wait follows from the policy; a command lengthens it, and shortens it only where that is asked for."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.lifecycle import DEFAULT_WAIT, SHORTEST_WAIT
from vault.cli.retirement_wait import retirement_wait
from vault.errors import PolicyError

DAYS = st.integers(0, 3650).map(lambda days: timedelta(days=days))


def test_without_a_declaration_it_is_thirty_days_and_that_is_said() -> None:
    waits = retirement_wait(None, None, short=False)
    assert (waits.length, waits.shortest) == (DEFAULT_WAIT, SHORTEST_WAIT)
    assert waits.told == (
        "The policy declares neither backup_retention nor replica_lag: it waits for 30d, the default."
    )
    assert "it waits for 9d, as asked" in retirement_wait(None, timedelta(days=9), short=False).told


def test_less_than_was_declared_has_to_be_asked_for() -> None:
    declared = timedelta(days=35)
    assert retirement_wait(declared, None, short=False).told == "It waits for 35d, as the policy declares."
    with pytest.raises(PolicyError, match=r"may come back for 35d .* add --short-wait"):
        retirement_wait(declared, timedelta(days=34), short=False)
    assert retirement_wait(declared, timedelta(0), short=True).length == timedelta(0)


@given(declared=st.none() | DAYS, asked=st.none() | DAYS)
def test_it_is_never_shorter_than_declared(declared: timedelta | None, asked: timedelta | None) -> None:
    try:
        waits = retirement_wait(declared, asked, short=False)
    except PolicyError:
        assert declared is not None
        assert asked is not None
        assert asked < declared
        return
    assert waits.length >= (declared or timedelta(0))
    assert waits.length == (asked if asked is not None else declared if declared is not None else DEFAULT_WAIT)
    assert declared is None or waits.shortest <= waits.length, "the lifecycle allows what the policy declares"
