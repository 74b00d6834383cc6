"""A version of a KEK is held while a key, or a backup from when it wrapped one, needs it or a lower one."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kms.kek_versions import KekVersionUse
from vault.retirement.kek_version_hold import versions_held

KEK = "hcvault://vault.example.org:8200/team/transit/keys/health"
T = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def use(version: int, wraps: int, left: int | None = None, kek: str = KEK) -> KekVersionUse:
    return KekVersionUse(kek, str(version), wraps, None if left is None else T + timedelta(days=left))


def test_a_version_that_wraps_none_is_free_when_backups_from_then_are_gone() -> None:
    one, two = versions_held([use(1, 0, 5), use(2, 3)], MONTH)
    assert (one.free_from, one.command) == (
        T + timedelta(days=35),
        "bao write team/transit/keys/health/config min_decryption_version=2",
    )
    assert (two.free_from, two.command) == (None, "")


def test_it_waits_for_a_lower_one() -> None:
    assert [one.free_from for one in versions_held([use(1, 1), use(2, 0, 5), use(3, 2)], MONTH)] == [None] * 3
    free = [one.free_from for one in versions_held([use(1, 0, 9), use(2, 0, 5)], MONTH)]
    assert free == [T + timedelta(days=39)] * 2
    other = "hcvault://vault.example.org:8200/transit/keys/other"
    assert versions_held([use(1, 1), use(1, 0, 1, other)], MONTH)[1].free_from == T + timedelta(days=31)


def test_no_command_where_a_version_is_not_given_up_by_itself() -> None:
    (held,) = versions_held([use(1, 0, 5, "local:/etc/kek")], MONTH)
    assert held.command == ""


@given(st.lists(st.one_of(st.tuples(st.integers(1, 9), st.none()), st.tuples(st.just(0), st.integers(0, 99)))))
def test_no_command_ends_what_a_key_or_a_backup_needs(told: list[tuple[int, int | None]]) -> None:
    uses = [use(number, *one) for number, one in enumerate(told, start=1)]
    for at, held in enumerate(versions_held(uses, MONTH)):
        below = uses[: at + 1]
        if held.command:
            assert held.command.endswith(f"={at + 2}")
            assert not any(one.wraps for one in below)
            assert held.free_from == max(one.left_at for one in below if one.left_at) + MONTH
