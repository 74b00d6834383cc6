"""Two columns: whether both say the same, by the codec's own encoding, and how their jobs are called."""

from pathlib import Path

import pytest

from tests.vault.jobs.two_columns_tables import BORN, MAIL, clients
from tests.vault.mapping.clinic import Person
from vault.errors import InvalidValueError, SealedColumnError
from vault.jobs.two_columns import TwoColumns
from vault.mapping.definitions import plaintext_column


@pytest.fixture
def pair(tmp_path: Path) -> TwoColumns:
    with clients(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as made:
        return TwoColumns(MAIL, made.opened)


def test_values_are_compared_by_their_encoding(pair: TwoColumns) -> None:
    assert pair.are_one("bob", "bob")
    assert pair.are_one(None, None)
    for plain, opened in (("Bob", "bob"), ("bob ", "bob"), ("é", "e\u0301"), (None, ""), ("", None)):
        assert not pair.are_one(plain, opened)


def test_a_plaintext_is_handed_over_as_a_written_value_is(pair: TwoColumns) -> None:
    fits, none, too_long = pair.handed_over([{"mail": "bob"}, {"mail": None}, {"mail": "b" * 13}])  # type: ignore[list-item]
    assert (fits, none) == ("bob", None)
    assert isinstance(too_long, InvalidValueError)


def test_a_long_name_is_cut_to_what_the_table_of_jobs_holds(pair: TwoColumns) -> None:
    assert pair.job("clear") == "clear mail_sealed"
    pair.sealed = "x" * 40
    assert len(pair.job("backfill")) <= 32
    before = pair.job("backfill")
    pair.sealed = "x" * 41
    assert pair.job("backfill") != before


def test_a_row_is_read_with_what_its_value_is_bound_to(tmp_path: Path) -> None:
    with clients(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as made:
        pair = TwoColumns(BORN, made.opened)
        assert pair.reads == ["born", "born_sealed", "id"]
        assert pair.context({"id as declared": 7, "id": "7"}) == {"id": 7}  # type: ignore[arg-type]


def test_a_field_that_does_not_migrate_is_refused() -> None:
    with pytest.raises(SealedColumnError, match="not migrating"):
        plaintext_column(Person.__table__.c.ssn)
