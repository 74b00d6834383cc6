"""Two clocks: nothing ends early because one of them is wrong."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from kms.key_database import reading
from kms.key_store import KeyStore
from kms.two_clocks import TwoClocks, read_clocks

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
offsets = st.integers(-(10**6), 10**6).map(lambda seconds: timedelta(seconds=seconds))


def two_clocks(right: datetime, wrong: timedelta, machine_is_right: bool) -> TwoClocks:
    return TwoClocks(right, right + wrong) if machine_is_right else TwoClocks(right + wrong, right)


@given(
    at_first=st.tuples(offsets, st.booleans()), at_last=st.tuples(offsets, st.booleans()), wait=offsets, passed=offsets
)
def test_no_wait_is_cut_short_while_one_of_the_clocks_is_right(
    at_first: tuple[timedelta, bool], at_last: tuple[timedelta, bool], wait: timedelta, passed: timedelta
) -> None:
    until = two_clocks(BEGUN, *at_first).later + wait
    if two_clocks(BEGUN + passed, *at_last).earlier >= until:
        assert passed >= wait


def test_the_databases_clock_is_read_in_utc(any_store: KeyStore) -> None:
    here = datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    with reading(any_store.engine) as connection:
        clocks = read_clocks(connection, here)
    assert clocks.machine == BEGUN
    assert clocks.machine.tzinfo is UTC
    assert clocks.database.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - clocks.database) < timedelta(minutes=1)
    assert clocks.earlier == BEGUN
    assert clocks.later == clocks.database
    assert "this machine's clock says 2026-01-01 00:00:00 UTC, the database's" in str(clocks)
