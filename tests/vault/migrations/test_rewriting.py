"""What autogenerate makes of changed models: on each kind of database, run up and down, in processes without keys."""

import ast
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, LargeBinary, MetaData, String, Table, Text, create_engine, inspect
from sqlalchemy.schema import CreateSchema

from dp.ledger.store.schema import metadata as ledger_tables
from kms import KeyStore
from tests.vault.mapping.clinic import Base
from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import FULL, HALF, mail, patients, ssn
from vault.definition_store import create_schema as create_definitions
from vault.jobs.job_tables import create_job_tables
from vault.mapping import CompoundIndex, Sealed
from vault.mapping.term_type import Term
from vault.normalise import digits
from vault.terms.term import BlindIndex


def upgrade_of(revision: str) -> list[str]:
    return _calls(revision, "upgrade")


def downgrade_of(revision: str) -> list[str]:
    return _calls(revision, "downgrade")


def _calls(revision: str, name: str) -> list[str]:
    (function,) = (n for n in ast.parse(revision).body if isinstance(n, ast.FunctionDef) and n.name == name)
    return [ast.unparse(statement) for statement in function.body]


def columns_in(url: str, table: str = "patient") -> dict[str, str]:
    engine = create_engine(url)
    found = {c["name"]: c["type"].compile(engine.dialect) for c in inspect(engine).get_columns(table)}
    engine.dispose()
    return found


def test_a_new_table_is_created_as_the_database_holds_it(project: AlembicProject) -> None:
    models = patients(ssn(unique=True, nullable=False), mail(FULL, HALF))
    text = project.revision(models)
    assert "Sealed" not in text
    assert "vault" not in text
    project.upgrade()
    assert project.differences(models) == []
    stored = columns_in(project.url)
    terms = [f"{index}_{slot}" for index in ("ssn_bidx", "mail_bidx", "mail_half") for slot in "ab"]
    assert list(stored) == ["id", "ssn", "mail", *terms]
    created = MetaData()
    patients(ssn(unique=True, nullable=False), mail(FULL, HALF)).tables["patient"].to_metadata(created, name="made")
    project.create(created)
    assert stored == columns_in(project.url, "made")


def test_added_fields_and_indexes_are_seen_and_go_again(project: AlembicProject) -> None:
    before = patients(mail())
    project.create(before)
    after = patients(mail(FULL, HALF), ssn(unique=True, nullable=False))
    text = project.revision(after)
    assert upgrade_of(text) == [
        "op.add_sealed_column('patient', 'ssn', longest_bytes=98)",
        "op.create_blind_index('patient', 'mail', 'bidx')",
        "op.create_blind_index('patient', 'mail', 'half', bits=64)",
        "op.create_blind_index('patient', 'ssn', 'bidx', unique=True)",
    ]
    assert downgrade_of(text) == [
        "op.drop_blind_index('patient', 'ssn', 'bidx')",
        "op.drop_blind_index('patient', 'mail', 'half')",
        "op.drop_blind_index('patient', 'mail', 'bidx')",
        "op.drop_sealed_column('patient', 'ssn')",
    ]
    assert "NOT NULL comes in a later revision" in text
    project.upgrade()
    assert project.differences(patients(mail(FULL, HALF), ssn(unique=True))) == []
    project.downgrade()
    assert project.differences(before) == []


def test_removed_fields_and_indexes_are_seen_and_come_again(project: AlembicProject) -> None:
    before = patients(mail(FULL, HALF), ssn(unique=True))
    project.create(before)
    text = project.revision(patients(mail(FULL)))
    bits = ", bits=64" if project.url.startswith("mysql") else ""  # the others do not know how long terms are
    longest = ", longest_bytes=98" if project.url.startswith("mysql") else ""
    assert sorted(upgrade_of(text)) == [
        "op.drop_blind_index('patient', 'mail', 'half')",
        "op.drop_blind_index('patient', 'ssn', 'bidx')",
        "op.drop_sealed_column('patient', 'ssn')",
    ]
    assert sorted(downgrade_of(text)) == [
        f"op.add_sealed_column('patient', 'ssn'{longest})",
        f"op.create_blind_index('patient', 'mail', 'half'{bits})",
        "op.create_blind_index('patient', 'ssn', 'bidx', unique=True)",
    ]
    project.upgrade()
    assert project.differences(patients(mail(FULL))) == []
    project.downgrade()
    assert project.differences(before) == []


def test_changed_fields_and_indexes_are_seen(project: AlembicProject) -> None:
    project.create(patients(ssn()))
    differences = project.differences(patients(ssn(unique=True, nullable=False)))
    told = {one[0] for group in differences for one in (group if isinstance(group, list) else [group])}
    assert told == {"remove_index", "add_index", "modify_nullable"}
    longer = patients(Column("ssn", Sealed(String(40), index=BlindIndex(name="other"))))
    told = {one[0] for group in project.differences(longer) for one in (group if isinstance(group, list) else [group])}
    lengths = {"modify_type"} if project.url.startswith("mysql") else set()
    assert told == {"create_blind_index", "drop_blind_index"} | lengths


def test_changed_fields_and_indexes_are_brought_to_the_models_and_back(project: AlembicProject) -> None:
    before, after = patients(ssn(), mail()), patients(ssn(unique=True, nullable=False), mail(nullable=False))
    project.create(before)
    stored = columns_in(project.url)
    project.options["render_as_batch"] = True  # SQLite cannot change a column in its place
    project.revision(after)
    project.upgrade()
    assert project.differences(after) == []
    project.downgrade()
    assert project.differences(before) == []
    assert columns_in(project.url) == stored


def test_no_difference_is_seen_where_there_is_none(project: AlembicProject) -> None:
    project.create(Base.metadata)
    assert project.differences(Base.metadata) == []


def test_revisions_run_up_and_down_in_another_process_that_has_no_key(project: AlembicProject) -> None:
    (project.folder / "models.py").write_text(MODELS)
    project.in_another_process("revision", "--autogenerate", "-m", "first")
    project.in_another_process("upgrade", "head")
    project.in_another_process("check")
    assert list(columns_in(project.url)) == ["id", "ssn", "ssn_bidx_a", "ssn_bidx_b"]
    project.in_another_process("downgrade", "base")
    engine = create_engine(project.url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()


MODELS = """
from sqlalchemy import Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from vault import BlindIndex, Sealed, digits

class Base(DeclarativeBase):
    pass

class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    ssn: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(digits)))
"""


def test_a_revision_holds_names_and_lengths_and_nothing_else(quick: AlembicProject) -> None:
    texts = [quick.revision(patients(ssn(unique=True), mail(FULL)))]
    quick.upgrade()
    texts.append(quick.revision(patients(mail(FULL, HALF))))
    names = {"patient", "id", "ssn", "mail", "bidx", "half", "mariadb", "mysql", "ix_patient_ssn_bidx_a"}
    names |= {"ix_patient_mail_bidx_a", *(f"{c}_bidx_{s}" for c in ("ssn", "mail") for s in "ab")}
    for text in texts:
        parsed = ast.parse(text)
        imports = [n for n in ast.walk(parsed) if isinstance(n, ast.Import | ast.ImportFrom)]
        assert {alias.name for n in imports for alias in n.names} <= {"op", "sqlalchemy", "mysql"}
        functions = [n for n in parsed.body if isinstance(n, ast.FunctionDef)]
        constants = {n.value for f in functions for n in ast.walk(f) if isinstance(n, ast.Constant)}
        assert constants <= names | {True, False, 37, 64, 98}


def test_a_naming_convention_of_the_models_is_kept(quick: AlembicProject) -> None:
    quick.create(patients(mail()))
    models = patients(mail(FULL), convention={"ix": "idx__%(table_name)s__%(column_0_name)s"})
    text = quick.revision(models)
    told = "_blind_index('patient', 'mail', 'bidx', index_name='idx__patient__mail_bidx_a')"
    assert (upgrade_of(text), downgrade_of(text)) == ([f"op.create{told}"], [f"op.drop{told}"])
    quick.upgrade()
    assert quick.differences(models) == []
    quick.downgrade()
    assert quick.differences(patients(mail())) == []


def test_a_batch_of_the_revision_changes_the_table(quick: AlembicProject) -> None:
    quick.create(patients(mail(HALF)))
    quick.options["render_as_batch"] = True
    after = patients(mail(FULL), ssn(unique=True))
    text = quick.revision(after)
    assert "    with op.batch_alter_table('patient', schema=None) as batch_op:" in text
    for call in (
        "batch_op.add_sealed_column('ssn', longest_bytes=98)",
        "batch_op.create_blind_index('mail', 'bidx')",
        "batch_op.create_blind_index('ssn', 'bidx', unique=True)",
        "batch_op.drop_blind_index('mail', 'half')",
        "batch_op.drop_sealed_column('ssn')",
        "batch_op.create_blind_index('mail', 'half')",
    ):
        assert call in text
    quick.upgrade()
    assert quick.differences(after) == []
    quick.downgrade()
    assert quick.differences(patients(mail(HALF))) == []


@pytest.mark.postgres
def test_a_table_in_a_schema_is_changed_there(tmp_path: Path, postgres_url: str) -> None:
    project = AlembicProject(tmp_path, postgres_url)
    project.options["include_schemas"] = True
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(CreateSchema("ward"))
    engine.dispose()
    before, after = patients(mail(HALF), schema="ward"), patients(mail(FULL), ssn(), schema="ward")
    project.create(before)
    text = project.revision(after)
    assert "op.add_sealed_column('patient', 'ssn', longest_bytes=98, schema='ward')" in upgrade_of(text)
    assert "op.create_blind_index('patient', 'mail', 'bidx', schema='ward')" in upgrade_of(text)
    assert "op.drop_blind_index('patient', 'mail', 'half', schema='ward')" in upgrade_of(text)
    project.upgrade()
    assert project.differences(after) == []
    project.downgrade()
    assert project.differences(before) == []


@pytest.mark.postgres
def test_the_default_schema_may_be_named_in_the_models(tmp_path: Path, postgres_url: str) -> None:
    project = AlembicProject(tmp_path, postgres_url)
    project.create(patients(mail(), schema="public"))
    text = project.revision(patients(mail(FULL), schema="public"))
    assert upgrade_of(text) == ["op.create_blind_index('patient', 'mail', 'bidx', schema='public')"]
    project.upgrade()


def test_the_tables_of_keys_definitions_and_budgets_are_not_dropped(project: AlembicProject) -> None:
    """Beside the application's tables, as a policy has them by default on a server."""
    store = KeyStore.from_url(project.url)
    store.create_schema()
    create_definitions(store.engine)
    ledger_tables.create_all(store.engine)
    create_job_tables(store.engine)
    kept = set(inspect(store.engine).get_table_names())
    assert len(kept) >= 13
    assert all(name.startswith("noisevault_") for name in kept)
    project.create(patients(ssn()))
    assert upgrade_of(project.revision(MetaData())) == [
        "op.drop_index(op.f('ix_patient_ssn_bidx_a'), table_name='patient')",
        "op.drop_table('patient')",
    ]
    project.upgrade()
    assert set(inspect(store.engine).get_table_names()) == kept | {"alembic_version"}
    store.close()


def test_a_model_may_declare_such_a_table_itself(quick: AlembicProject) -> None:
    models = MetaData()
    Table("noisevault_of_ours", models, Column("id", Integer, primary_key=True), Column("n", Integer, index=True))
    assert "create_table('noisevault_of_ours'" in quick.revision(models)
    quick.upgrade()
    Table("noisevault_of_ours", models, Column("m", Integer), extend_existing=True)
    assert "add_column('noisevault_of_ours'" in quick.revision(models)


def test_terms_that_belong_to_no_single_field_are_plain_columns(quick: AlembicProject) -> None:
    """What is not a field's own index is told in Alembic's own words, without our type."""
    quick.create(patients())
    text = quick.revision(patients(Column("both_a", Term(37), index=True), Column("both_b", Term(37))))
    assert [line.split("(")[0] for line in upgrade_of(text)] == ["op.add_column"] * 2 + ["op.create_index"]
    assert "Term" not in text
    quick.upgrade()
    quick.downgrade()
    assert quick.differences(patients()) == []


def test_columns_that_are_only_called_alike_are_dropped_as_what_they_are(quick: AlembicProject) -> None:
    pair = (Column("mail_x_a", LargeBinary, index=True), Column("mail_x_b", Text))
    other = (Column("scan_a", LargeBinary, index=True), Column("scan_b", LargeBinary))
    quick.create(patients(mail(), *pair, *other))
    names = {line.split("(")[0] for line in upgrade_of(quick.revision(patients(mail())))}
    assert names == {"op.drop_index", "op.drop_column"}


def test_an_index_over_columns_is_made_and_goes_as_one_operation(project: AlembicProject) -> None:
    before, whole = patients(ssn(), mail(FULL)), CompoundIndex("whole", "ssn", "mail", unique=True)
    project.create(before)
    after = patients(ssn(), mail(FULL), whole)
    text = project.revision(after)
    assert "vault" not in text
    assert upgrade_of(text) == ["op.create_compound_index('patient', 'whole', ['ssn', 'mail'], unique=True)"]
    assert downgrade_of(text) == ["op.drop_compound_index('patient', 'whole')"]
    project.upgrade()
    assert project.differences(after) == []
    assert [name for name in columns_in(project.url) if name.startswith("whole")] == ["whole_a", "whole_b"]
    dropped = project.revision(before)
    assert upgrade_of(dropped) == ["op.drop_compound_index('patient', 'whole')"]
    assert downgrade_of(dropped) == ["op.create_compound_index('patient', 'whole', unique=True)"]
    project.upgrade()
    assert project.differences(before) == []
    project.downgrade("-1")
    assert project.differences(after) == []
    project.downgrade()
    assert project.differences(before) == []


def test_an_index_over_columns_goes_with_its_fields(quick: AlembicProject) -> None:
    before = patients()
    quick.create(before)
    after = patients(ssn(), mail(FULL), CompoundIndex("whole", ("ssn", digits), "mail", bits=20))
    added = quick.revision(after)
    assert "op.create_compound_index('patient', 'whole', ['ssn', 'mail'], bits=20)" in upgrade_of(added)
    quick.upgrade()
    assert quick.differences(after) == []
    text = quick.revision(before)
    assert "op.drop_compound_index('patient', 'whole')" in upgrade_of(text)
    assert "op.drop_column" not in text
    quick.upgrade()
    assert quick.differences(before) == []
    quick.downgrade()
    assert quick.differences(before) == []


def test_a_field_migrates_and_its_plaintext_goes_in_the_end(project: AlembicProject) -> None:
    """Rows stay what they are; the NOT NULL of the old column goes first, that of the new one comes last."""

    def models(*columns: Column[str]) -> MetaData:
        metadata = MetaData()
        Table("patient", metadata, Column("id", Integer, primary_key=True), *columns)
        return metadata

    project.options = {"render_as_batch": True}
    project.create(models(Column("ssn", String(11), nullable=False, index=True, unique=True)))
    rows(project.url, "INSERT INTO patient (id, ssn) VALUES (1, 'a')")
    old = Column("ssn", String(11), index=True, unique=True)
    sealed = Sealed(String(11), index=BlindIndex(), unique=True, migrating=old)
    migrating = models(Column("ssn_sealed", sealed, nullable=False))
    said = "\n".join(upgrade_of(project.revision(migrating)))
    assert "add_sealed_column('ssn_sealed'" in said
    assert "create_blind_index('ssn_sealed', 'bidx', unique=True" in said
    assert "alter_column('ssn'" in said
    assert "nullable=True" in said
    assert "drop" not in said
    project.upgrade()
    assert project.differences(migrating) == []
    assert rows(project.url, "SELECT ssn FROM patient") == [("a",)]
    done = models(Column("ssn_sealed", Sealed(String(11), index=BlindIndex(), unique=True), nullable=False))
    rows(project.url, "DELETE FROM patient")
    said = "\n".join(upgrade_of(project.revision(done)))
    assert "drop_column('ssn')" in said
    assert "alter_column('ssn_sealed'" in said
    assert "nullable=False" in said
    project.upgrade()
    assert project.differences(done) == []
    assert "ssn" not in columns_in(project.url)


def rows(url: str, sql: str) -> list[tuple[object, ...]]:
    engine = create_engine(url)
    with engine.begin() as connection:
        found = connection.exec_driver_sql(sql)
        given = [tuple(row) for row in found] if found.returns_rows else []
    engine.dispose()
    return given
