"""Columns that share an index are joined by it, behind each database; those that do not are refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, exists, select
from sqlalchemy.orm import Session, aliased

from kms.key_record import Purpose
from tests.vault.mapping.conftest import new_vault
from tests.vault.mapping.ward import Base, Doctor, Patient
from vault import BlindIndex, Sealed, attach, casefold
from vault.errors import IndexChangedError, SealedColumnError

pytestmark = pytest.mark.databases_in_turn

ANN, BOB, EVE = "plain§Ann", "plain§Bob", "plain§Eve"


@pytest.fixture
def ward(clinic: Engine) -> Iterator[Session]:
    Base.metadata.create_all(clinic)
    with Session(clinic) as session:
        session.add_all([Patient(id=n, name=name) for n, name in enumerate((ANN, BOB, ANN, None))])
        session.add_all([Doctor(id=n, who=who) for n, who in enumerate((BOB, ANN, EVE, None))])
        session.flush()
        yield session
        session.rollback()
    Base.metadata.drop_all(clinic)


def test_a_join_on_a_shared_index_pairs_equal_values(ward: Session) -> None:
    pairs = select(Patient.id, Doctor.id).join(Doctor, Patient.name == Doctor.who)
    assert sorted(ward.execute(pairs).all()) == [(0, 1), (1, 0), (2, 1)]
    turned = select(Patient.id, Doctor.id).join(Doctor, Doctor.who == Patient.name)
    assert sorted(ward.execute(turned).all()) == [(0, 1), (1, 0), (2, 1)]
    other = aliased(Doctor)
    outer = select(Patient.id, other.who).outerjoin(other, Patient.name == other.who).order_by(Patient.id)
    assert ward.execute(outer).all() == [(0, ANN), (1, BOB), (2, ANN), (3, None)]
    alone = select(Doctor.id).where(~exists().where(Patient.name == Doctor.who), Doctor.who.is_not(None))
    assert ward.scalars(alone).all() == [2]


def test_each_is_still_asked_by_its_own_values(ward: Session) -> None:
    assert ward.scalars(select(Doctor.id).where(Doctor.who == ANN)).all() == [1]
    assert sorted(ward.scalars(select(Patient.id).where(Patient.name == ANN))) == [0, 2]


@pytest.mark.parametrize("other", [Patient.email, Patient.code, Patient.ward])
def test_a_comparison_with_a_column_that_does_not_share_it_is_refused(ward: Session, other: Any) -> None:
    with pytest.raises(SealedColumnError, match=r"scope=|left of =="):
        ward.execute(select(Doctor.id).join(Patient, Doctor.who == other))


def _tables(**second: Any) -> MetaData:
    metadata = MetaData()
    Table(
        "one", metadata, Column("id", Integer, primary_key=True), Column("x", Sealed(Text, index=BlindIndex(scope="s")))
    )
    Table(
        "two",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("y", Sealed(Text, index=BlindIndex(scope="s", **second))),
    )
    return metadata


def test_all_columns_of_a_scope_keep_one_key_whenever_they_were_declared(tmp_path: Any) -> None:
    vault = new_vault(tmp_path)
    metadata = _tables()
    one, two = (metadata.tables[name].c for name in ("one", "two"))
    engine = create_engine("sqlite://")
    attach(engine, vault)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(one.x.table.insert().values(id=1, x=ANN))
        vault.keyring.lifecycle.rotate(Purpose.INDEX)
        connection.execute(two.y.table.insert().values(id=2, y=ANN))
        assert connection.execute(select(one.id, two.id).where(one.x == two.y)).all() == [(1, 2)]
    vault.close()


def test_columns_that_would_make_other_terms_under_one_scope_are_refused_at_start(tmp_path: Any) -> None:
    vault = new_vault(tmp_path)
    with pytest.raises(
        IndexChangedError, match="shared index s is not defined as its terms were made: recorded str/1, exact"
    ):
        attach(create_engine("sqlite://"), vault, _tables(normaliser=casefold))
    vault.close()
