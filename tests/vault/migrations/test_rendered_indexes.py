"""Every kind of index, as autogenerate writes it into revisions that a process without a key runs."""

import ast
import re
from collections import Counter

import pytest
from sqlalchemy import create_engine, inspect

from tests.servers.not_run import need_module
from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.test_rewriting import columns_in, upgrade_of

pytestmark = pytest.mark.databases_in_turn

MODELS = """
from sqlalchemy import Date, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from vault import (
    BlindIndex, CompoundIndex, Sealed, casefold, digits, email, email_domain, last_four, phone, year,
    register_normaliser,
)

plate = register_normaliser("acme.plate", 1, str.upper)

class Base(DeclarativeBase):
    pass

class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    clinic: Mapped[str] = mapped_column(String(40))
    # FIELDS

class Invoice(Base):
    __tablename__ = "invoice"
    id: Mapped[int] = mapped_column(primary_key=True)
    # SHARED
"""
FIELDS = """
    field: Mapped[str | None] = mapped_column(Sealed(Text))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, unique=True, index=[
        BlindIndex(digits), BlindIndex(last_four, name="last4"), BlindIndex(bits=12, name="rough")]))
    mail: Mapped[str | None] = mapped_column(Sealed(String(60), index=[
        BlindIndex(email, scope="mail"), BlindIndex(email_domain, name="at")]))
    pin: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(slow=True)))
    tel: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(phone("GB"))))
    car: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(plate), bind=("clinic",)))
    born: Mapped[str | None] = mapped_column(Sealed(Date, index=BlindIndex(year, name="year")))
    login: Mapped[str | None] = mapped_column(Sealed(
        Text, index=BlindIndex(casefold, keyring="look-ups"), tenant="clinic", unique=True))
"""
SHARED = """
    mail: Mapped[str | None] = mapped_column(Sealed(String(60), index=BlindIndex(email, scope="mail")))
"""
COMPOUNDS = """
    __table_args__ = (
        CompoundIndex("whole", ("field", casefold), "born", unique=True),
        CompoundIndex("part", ("ssn", last_four), "born", bits=20),
    )
"""


def test_k07_01_revisions_of_every_kind_of_index_run_up_and_down_without_a_key(
    project: AlembicProject, request: pytest.FixtureRequest
) -> None:
    """What is added to tables that are there, and then removed from them, each in a process that has no keys."""
    need_module(request.node, "phonenumbers")
    plain = MODELS.replace("    # FIELDS", "").replace("    # SHARED", "")
    fields = MODELS.replace("    # FIELDS", FIELDS).replace("    # SHARED", SHARED)
    whole = fields.replace("    clinic: Mapped", f"{COMPOUNDS}    clinic: Mapped")
    states = []
    for name, models in (("first", plain), ("added", whole), ("removed", plain)):
        (project.folder / "models.py").write_text(models)
        project.in_another_process("revision", "--autogenerate", "-m", name)
        project.in_another_process("upgrade", "head")
        project.in_another_process("check")
        states.append(columns_in(project.url))
    assert len(states[1]) == 2 + 8 + 2 * 10 + 2 * 2
    assert states[2] == states[0]
    added, removed = (next((project.folder / "alembic" / "versions").glob(f"*_{n}.py")) for n in ("added", "removed"))
    made, undone = (Counter(call.split("(")[0] for call in upgrade_of(one.read_text())) for one in (added, removed))
    assert made == {"op.add_sealed_column": 9, "op.create_blind_index": 11, "op.create_compound_index": 2}
    assert undone == {
        "op.drop_sealed_column": 8,
        "op.drop_blind_index": 11,
        "op.drop_compound_index": 2,
        "op.drop_column": 1,  # the field without an index
    }
    for text in (added.read_text(), removed.read_text()):
        imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        named = {getattr(node, "module", None) or node.names[0].name for node in imported}
        assert {name.partition(".")[0] for name in named} == {"alembic", "sqlalchemy"}
        assert not re.search("kek|vault|Sealed|BlindIndex|normalis|look-ups|acme", text)
    project.in_another_process("downgrade", "-1")
    assert columns_in(project.url) == states[1]
    project.in_another_process("downgrade", "base")
    engine = create_engine(project.url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()
