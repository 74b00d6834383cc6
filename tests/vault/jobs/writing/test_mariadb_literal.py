"""What MariaDB reads of a literal is what was written."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from tests.sizes import sized
from vault.jobs.writing.mariadb_literal import mariadb_literal

first, last = datetime(1000, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001  # MariaDB has no zones
day = timedelta(days=34)
values = st.one_of(
    st.none(),
    st.binary(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False),
    st.decimals(-(10**20), 10**20, places=5),
    st.datetimes(first, last),
    st.dates(date(1000, 1, 1)),
    st.timedeltas(-day, day),
)


@pytest.mark.mariadb
@settings(max_examples=sized(40, 150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(values, min_size=1, max_size=20))
def test_mariadb_reads_what_was_written(mariadb_url: str, rows: list[Any]) -> None:
    engine = create_engine(mariadb_url)
    with engine.connect() as connection:
        read = connection.exec_driver_sql(f"SELECT {','.join(map(mariadb_literal, rows))}").one()
    engine.dispose()
    assert [*read] == rows


def test_a_time_of_day_and_a_boolean_have_a_form_too() -> None:
    assert mariadb_literal(time(1, 2, 3, 4)) == "TIME'01:02:03.000004'"
    assert mariadb_literal(True) == "1"


def test_no_text_ends_its_literal() -> None:
    assert (
        mariadb_literal("x'); DROP TABLE t; --%s\\") == "_utf8mb4 x'7827293b2044524f50205441424c4520743b202d2d25735c'"
    )


def test_a_type_that_no_column_is_read_as_is_refused_without_its_value() -> None:
    with pytest.raises(TypeError, match=r"^a value of type set has no form in a statement$"):
        mariadb_literal({Decimal(1)})
