"""Two columns: whether both say the same, by the codec's own encoding, and how their jobs are called."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from tests.vault.jobs.two_columns_tables import BORN, MAIL, clients
from tests.vault.mapping.clinic import Person
from tests.vault.mapping.conftest import new_vault
from tests.vault.mapping.migrating import Base as MigratingBase
from tests.vault.mapping.migrating import Kinds, Ward
from tests.vault.phases import set_phase
from vault.attaching import attach
from vault.changeover.phase import Phase
from vault.errors import InvalidValueError, SealedColumnError
from vault.jobs.engine import Job
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.clear import Clear
from vault.jobs.migrating.restore import Restore
from vault.jobs.migrating.two_columns import TwoColumns
from vault.mapping import definition_of
from vault.mapping.definitions import plaintext_column
from vault.modes.recorded_modes import PLAINTEXT, SEALED, subject_of_field


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


def test_every_kind_of_value_goes_there_and_back(tmp_path: Path, database_url: str) -> None:
    opened = new_vault(tmp_path)
    engine = create_engine(database_url)
    attach(engine, opened, MigratingBase.metadata)
    MigratingBase.metadata.create_all(engine)
    at = datetime(2031, 3, 30, 2, 30)  # noqa: DTZ001  # as the column is
    values = {"count": 9173, "price": Decimal("73911.25"), "at": at, "ward": Ward.WEST, "chart": {"a": [1, None]}}
    columns = [Kinds.__table__.c[f"{name}_sealed"] for name in values]
    with Session(engine) as session:
        session.add_all([Kinds(id=1, **values), Kinds(id=2)])
        session.commit()
    for phase, kind in (
        (Phase.DUAL_ASK_OLD, Backfill),
        (Phase.NEW, Clear),
        (Phase.DUAL_ASK_NEW, Restore),
        (Phase.DUAL_ASK_OLD, None),
    ):
        for column in columns:
            subject = subject_of_field(definition_of(column))
            set_phase(opened.key_store, opened.keyring, subject, phase, old=PLAINTEXT, new=SEALED)
            rewritten = [Job(kind(column, opened), engine).run().rewritten for _ in range(2)] if kind else [1, 0]
            assert rewritten == [1, 0], column.name
        with Session(engine) as session:
            kinds, none = session.scalars(select(Kinds).order_by(Kinds.id))
            assert {name: getattr(kinds, name) for name in values} == values
            assert {getattr(none, name) for name in values} == {None}
    opened.close()
