"""What autogenerate says while an index changes over, and afterwards: nothing."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, Index, MetaData, create_engine, inspect

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import FULL, HALF, mail, patients, ssn
from tests.vault.migrations.test_rewriting import downgrade_of, upgrade_of
from vault.mapping import CompoundIndex
from vault.rows.raw_table import raw_table

PAIRS = {"ssn_bidx": True, "mail_half": False, "both": True}


def models() -> MetaData:
    return patients(ssn(unique=True), mail(HALF), CompoundIndex("both", "ssn", "mail", unique=True))


@pytest.fixture
def engine(project: AlembicProject) -> Iterator[Engine]:
    project.create(models())
    engine = create_engine(project.url)
    yield engine
    engine.dispose()


def _index(engine: Engine, slot: str) -> None:
    stored = raw_table(models().tables["patient"])
    for pair, unique in PAIRS.items():
        Index(f"ix_patient_{pair}_{slot}", stored.c[f"{pair}_{slot}"], unique=unique).create(engine)


def _drop(engine: Engine, slot: str) -> None:
    stored = raw_table(models().tables["patient"])
    for pair in PAIRS:
        Index(f"ix_patient_{pair}_{slot}", stored.c[f"{pair}_{slot}"]).drop(engine)


def test_it_says_nothing_in_any_phase_there_and_back(project: AlembicProject, engine: Engine) -> None:
    assert project.differences(models()) == []
    for old, new in ("ab", "ba", "ab"):
        _index(engine, new)  # phases 2 and 3
        assert project.differences(models()) == []
        assert upgrade_of(project.revision(models())) == ["pass"]
        project.upgrade()
        _drop(engine, old)  # done
        assert project.differences(models()) == []
        assert upgrade_of(project.revision(models())) == ["pass"]
        project.upgrade()


def test_an_index_that_neither_slot_has_is_missed(project: AlembicProject, engine: Engine) -> None:
    _drop(engine, "a")
    found = project.differences(models())
    assert sorted(one[1].name for one in found) == [
        "ix_patient_both_a",
        "ix_patient_mail_half_a",
        "ix_patient_ssn_bidx_a",
    ]


@pytest.mark.parametrize("done", [False, True])
def test_an_index_that_has_changed_over_goes_and_comes_back(
    project: AlembicProject, engine: Engine, done: bool
) -> None:
    _index(engine, "b")
    if done:
        _drop(engine, "a")
    without = patients(ssn(unique=True), mail(), CompoundIndex("both", "ssn", "mail", unique=True))
    text = project.revision(without)
    assert upgrade_of(text) == ["op.drop_blind_index('patient', 'mail', 'half')"]
    assert downgrade_of(text)[0].startswith("op.create_blind_index('patient', 'mail', 'half'")
    project.upgrade()
    assert project.differences(without) == []
    assert not [one["name"] for one in inspect(engine).get_indexes("patient") if "half" in str(one["name"])]
    project.downgrade()
    assert "ix_patient_mail_half_a" in {one["name"] for one in inspect(engine).get_indexes("patient")}


def test_other_differences_of_the_same_table_are_told(project: AlembicProject, engine: Engine) -> None:
    _index(engine, "b")
    more = patients(ssn(unique=True), mail(HALF, FULL), CompoundIndex("both", "ssn", "mail", unique=True))
    assert upgrade_of(project.revision(more)) == ["op.create_blind_index('patient', 'mail', 'bidx')"]
