"""Commands on an application's mapped classes: what they write a policy's tables open, and the other way round."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from kms import ProviderSettings
from tests.kms.rested import let_rest
from tests.vault.cli.conftest import CSV, Run
from tests.vault.projects import POLICY, write_policy
from vault.cli.models import load_models
from vault.errors import DefinitionError, PolicyError
from vault.policy import Policy
from vault.project import Project, policy_beside

MODELS = """
from uuid import UUID, uuid4
from sqlalchemy import BigInteger, Float, Integer, JSON, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from vault import BlindIndex, Sealed, digits

class Base(DeclarativeBase):
    pass

class Visit(Base):
    __tablename__ = "visit"
    person: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    year: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    site: Mapped[int | None]
    national_id: Mapped[str | None] = mapped_column(
        Sealed(Text, index=BlindIndex(digits), bind=("person", "year")))
    diagnosis: Mapped[str | None] = mapped_column(Sealed(Text, bind=("person", "year")))
    spending: Mapped[float | None] = mapped_column(Sealed(Float, bind=("person", "year")))

class Letter(Base):
    __tablename__ = "letter"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    kind: Mapped[str | None] = mapped_column(Text, default="note")
    body: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(), bind="id"))

class Clinic(Base):
    __tablename__ = "clinic"
    id: Mapped[int] = mapped_column(primary_key=True)
    hours: Mapped[dict[str, int] | None] = mapped_column(JSON)
"""
WITHOUT_TABLES = POLICY[: POLICY.index("[table")] + POLICY[POLICY.index("[dataset") :]
NAMED = ("--models", "clinic_models:Base")


@pytest.fixture
def application(run: Run, tmp_path: Path) -> Iterator[Run]:
    """A folder with mapped classes, a policy that names no table, and the tables that the application made."""
    (tmp_path / "clinic_models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "noisevault.toml").write_text(WITHOUT_TABLES.format(database="sqlite:///application.db"))
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    path = sys.path.copy()
    yield run
    sys.modules.pop("clinic_models", None)
    sys.path[:] = path


def make_tables(folder: Path) -> Project:
    mapped = load_models("clinic_models:Base")
    assert mapped is not None
    project = Project.open(policy_beside(folder / "noisevault.toml", mapped), ProviderSettings(), (), mapped)
    mapped.create_all(project.engine)
    return project


def test_every_command_takes_mapped_classes(application: Run, tmp_path: Path) -> None:
    made = application("init", *NAMED)
    assert "tables, which you make: visit, letter, clinic" in made.out
    told = application("show", "visit", *NAMED)
    assert (told.status, "no table letter, visit; make it by your migrations" in told.err) == (1, True)
    make_tables(tmp_path)
    for words in (
        ("import", "visits.csv", "--table", "visit"),
        ("find", "national_id", "11-1", "--table", "visit"),
        ("inspect", "leakage", "--table", "visit"),
        ("show", "visit"),
        ("show", "visit", "--raw"),
        ("show", "clinic"),
        ("reencrypt",),
        ("ask", "count(*) by site", "--epsilon", "0.1"),
        ("budget",),
        ("check",),
    ):
        ended = application(*words, *NAMED)
        assert (ended.status, ended.err) == (0, ""), words
    keys = application("keys", "list", "--json").out
    application("rotate")
    let_rest(make_tables(tmp_path).opened.key_store.engine)
    old = next(one for one in json.loads(keys) if one["purpose"] == "data")["key_id"]
    refused = application("keys", "retire", old, "--confirm", "main", "--no-reencrypt", *NAMED)
    assert (refused.status, f"{old} is needed by 4 values of visit.national_id" in refused.err) == (1, True), refused
    assert application("reencrypt", *NAMED).out.count("rows rewritten") == 2
    retired = application("keys", "retire", old, "--confirm", "main", "--wait", "0s", "--short-wait", *NAMED)
    assert retired.status == 0, retired.err
    let_rest(make_tables(tmp_path).opened.key_store.engine)
    assert application("keys", "destroy", old, "--confirm", "main", *NAMED).status == 0


def test_a_file_leaves_out_what_the_application_makes(application: Run, tmp_path: Path) -> None:
    application("init", *NAMED)
    make_tables(tmp_path)
    (tmp_path / "letters.csv").write_text("body\nsesame\nother\n")
    imported = application("import", "letters.csv", "--table", "letter", *NAMED)
    assert (imported.status, imported.err) == (0, "")
    (row,) = application("find", "body", "sesame", "--table", "letter", "--json", *NAMED).out.splitlines()
    found = json.loads(row)
    assert (found["kind"], found["body"]) == ("note", "sesame")
    again = application("find", "id", found["id"], "--table", "letter", "--json", *NAMED)
    assert json.loads(again.out) == found


def test_both_give_the_same_fields(application: Run, tmp_path: Path) -> None:
    application("init", *NAMED)
    mapped = make_tables(tmp_path)
    write_policy(tmp_path)
    policed = Project.open(Policy.load(tmp_path / "noisevault.toml"), ProviderSettings())
    assert all(mapped.tables[name] is table for name, table in load_models("clinic_models:Base").tables.items())
    of_models, of_policy = (project.fields(project.table("visit")) for project in (mapped, policed))
    assert {n: f.definition for n, f in of_models.items()} == {n: f.definition for n, f in of_policy.items()}
    for number, (writer, reader) in enumerate(((mapped, policed), (policed, mapped))):
        table, row = writer.table("visit"), {"person": number, "year": 1, "national_id": f"7-{number}", "spending": 2.5}
        with writer.engine.begin() as connection:
            connection.execute(insert(table), [row])
        table = reader.table("visit")
        with reader.engine.connect() as connection:
            asked = select(table).where(table.c.national_id == f"7{number}")
            assert dict(connection.execute(asked).mappings().one()) == row | {"site": None, "diagnosis": None}


def test_without_tables_and_models_one_is_told_what_to_name(application: Run) -> None:
    for words in (("init",), ("show",), ("check",)):
        told = application(*words)
        assert (told.status, "--models MODULE:BASE" in told.err) == (1, True)
    application("init", *NAMED)
    assert application("keys", "check").status == 0  # keys need no table


def test_tables_in_the_policy_and_mapped_classes_are_one_too_many(application: Run, tmp_path: Path) -> None:
    write_policy(tmp_path)
    told = application("init", *NAMED)
    assert (told.status, "remove this section, or --models" in told.err) == (1, True)


UNKNOWN = ["clinic_models", ":Base", "clinic_models:", "clinic_models:Visit.nobody", "no_such:Base"]


@pytest.mark.parametrize("named", UNKNOWN)
def test_what_cannot_be_imported_is_told_in_one_line(application: Run, named: str) -> None:
    with pytest.raises(PolicyError) as told:
        load_models(named)
    assert "\n" not in str(told.value)
    assert told.value.__context__ is None


def test_an_error_of_the_application_is_named_and_shows_nothing_of_its_text(application: Run, tmp_path: Path) -> None:
    (tmp_path / "clinic_models.py").write_text("raise RuntimeError('postgresql://app:sesame@db')")
    with pytest.raises(PolicyError, match=r"^clinic_models:Base cannot be imported \(RuntimeError;") as told:
        load_models("clinic_models:Base")
    assert "sesame" not in str(told.value)
    assert told.value.__context__ is None


def test_a_declaration_that_cannot_work_says_so_itself(application: Run, tmp_path: Path) -> None:
    wrong = MODELS.replace('Sealed(Text, bind=("person", "year"))', 'Sealed(Text, bind="nobody")')
    (tmp_path / "clinic_models.py").write_text(wrong)
    with pytest.raises(DefinitionError, match="nobody"):
        load_models("clinic_models:Base")


@pytest.mark.parametrize("named", ["clinic_models:Base.metadata", "clinic_models:Visit"])
def test_a_metadata_and_what_has_one_are_taken(application: Run, named: str) -> None:
    found = load_models(named)
    assert found is not None
    assert set(found.tables) == {"visit", "letter", "clinic"}


@pytest.mark.parametrize(("named", "said"), [("sys:path", "has no metadata"), ("empty_models:m", "has no table")])
def test_what_has_no_tables_is_told(application: Run, tmp_path: Path, named: str, said: str) -> None:
    (tmp_path / "empty_models.py").write_text("import sqlalchemy\nm = sqlalchemy.MetaData()\n")
    with pytest.raises(PolicyError, match=said):
        load_models(named)


def test_an_index_of_mapped_classes_is_moved(application: Run, tmp_path: Path) -> None:
    application("init", *NAMED)
    make_tables(tmp_path)
    assert application("import", "visits.csv", "--table", "visit", *NAMED).status == 0
    assert application("rotate", "--purpose", "index").status == 0
    moved = application("reindex", "visit.national_id", "--wait", "--lease", "0.3", *NAMED)
    assert moved.status == 0, moved.out + moved.err
    assert "visit.national_id index bidx: done" in moved.out
    told = application("reindex", "--status", *NAMED).out
    assert "visit.national_id index bidx: slot b" in told
    assert "letter.body index bidx: slot a" in told
    models = (tmp_path / "clinic_models.py").read_text(encoding="utf-8")
    changed = models.replace("index=BlindIndex(digits), bind", "index=BlindIndex(digits, bits=64), generation=1, bind")
    (tmp_path / "clinic_models.py").write_text(changed, encoding="utf-8")
    sys.modules.pop("clinic_models")
    refused = application("reencrypt", *NAMED)
    assert (refused.status, "noisevault reindex visit.national_id" in refused.err) == (1, True)
    narrowed = application("reindex", "visit.national_id", "--wait", "--lease", "0.3", *NAMED)
    assert narrowed.status == 0, narrowed.out + narrowed.err
    assert "visit.national_id index bidx: slot a" in application("reindex", "--status", *NAMED).out
    assert application("reencrypt", *NAMED).status == 0
