"""Moments are shown in UTC, wherever they were taken."""

from datetime import datetime, timedelta, timezone

from kms.utc_text import to_the_minute, to_the_second

HERE = datetime(2026, 1, 1, 2, 30, 5, tzinfo=timezone(timedelta(hours=5, minutes=30)))


def test_a_moment_is_shown_in_utc() -> None:
    assert to_the_minute(HERE) == "2025-12-31 21:00 UTC"
    assert to_the_second(HERE) == "2025-12-31 21:00:05 UTC"
