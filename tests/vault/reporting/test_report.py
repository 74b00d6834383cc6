"""A report knows whether its quarter was over."""

from datetime import UTC, datetime

import pytest

from tests.vault.reporting.entries import report


@pytest.mark.parametrize(
    ("moment", "over"),
    [(datetime(2026, 9, 30, 23, 59, 59, 999999, UTC), False), (datetime(2026, 10, 1, tzinfo=UTC), True)],
)
def test_a_quarter_is_over_at_its_end(moment: datetime, over: bool) -> None:
    assert report(made_at=moment).is_over is over
