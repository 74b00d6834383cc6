"""Stored values that somebody moved by SQL to another row, column, table or tenant: none opens there, on any way.

On each database; other values are still read, and put back in their places they open again.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, String, Text, create_engine, delete, event, select, union_all, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from kms import Purpose
from tests.pairwise import covering_params
from tests.servers.databases import DATABASES
from tests.vault import tenancy
from tests.vault.mapping.conftest import new_vault
from tests.vault.tenancy import Account, Patient, new_tenants
from vault import BlindIndex, CannotOpenError, OpenedVault, OtherTenantError, Sealed, TenantVaults, attach
from vault.jobs.engine import Job
from vault.jobs.quarantine import listed
from vault.jobs.reencrypt import Reencrypt
from vault.mapping import definition_of
from vault.rows.raw_table import raw_table
from vault.rows.scan import Scan


class Base(DeclarativeBase):
    pass


class Holder(Base):
    __tablename__ = "holder"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    person: Mapped[str] = mapped_column(String(20))
    city: Mapped[str | None] = mapped_column(String(20))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), bind="id"))
    note: Mapped[str | None] = mapped_column(Sealed(Text, bind=("id", "person")))
    visit: Mapped[str | None] = mapped_column(Sealed(Text, bind=("id", "person")))


class Twin(Base):
    """Of the same shape, with the same keys and values."""

    __tablename__ = "twin"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    person: Mapped[str] = mapped_column(String(20))
    city: Mapped[str | None] = mapped_column(String(20))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), bind="id"))
    note: Mapped[str | None] = mapped_column(Sealed(Text, bind=("id", "person")))
    visit: Mapped[str | None] = mapped_column(Sealed(Text, bind=("id", "person")))


@dataclass(frozen=True)
class Cell:
    """One stored value. under: the tenant in force to read it by."""

    model: type[Any]
    column: str
    id: int
    under: str | None = None

    @property
    def attribute(self) -> Any:
        return getattr(self.model, self.column)


MOVES: dict[str, tuple[Cell, Cell]] = {
    "rows": (Cell(Holder, "ssn", 1), Cell(Holder, "ssn", 2)),
    "rows bound by two columns": (Cell(Holder, "note", 1), Cell(Holder, "note", 2)),
    "columns": (Cell(Holder, "note", 1), Cell(Holder, "visit", 1)),
    "tables": (Cell(Holder, "ssn", 1), Cell(Twin, "ssn", 1)),
    "tenants in force": (Cell(Patient, "ssn", 1, "acme"), Cell(Patient, "ssn", 2, "globex")),
    "tenants of rows": (Cell(Account, "note", 1), Cell(Account, "note", 2)),
}
UNTOUCHED = (
    Cell(Holder, "visit", 2), Cell(Twin, "note", 1), Cell(Patient, "note", 1, "acme"),
    Cell(Patient, "note", 2, "globex"), Cell(Account, "iban", 1), Cell(Account, "iban", 2),
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """One database with one engine for the vault of one keyring, and one for the tenants'."""

    single: Engine
    by_tenant: Engine
    opened: OpenedVault
    vaults: TenantVaults

    def session(self, cell: Cell) -> Session:
        return Session(self.by_tenant if cell.model in (Patient, Account) else self.single)

    def read(self, way: str, cell: Cell) -> Any:
        with self.session(cell) as session:
            if cell.under is None:
                return READS[way](session, cell)
            with self.vaults.tenant(cell.under):
                return READS[way](session, cell)

    def stored(self, cell: Cell) -> dict[str, Any]:
        """The sealed bytes and the terms, without the column's name."""
        raw = raw_table(cell.model.__table__)
        names = [column.name for column in raw.c if column.name.startswith(cell.column)]
        with self.single.begin() as connection:
            row = connection.execute(select(raw).where(raw.c.id == cell.id)).mappings().one()
        return {name.removeprefix(cell.column): row[name] for name in names}

    def store(self, cell: Cell, parts: Mapping[str, Any]) -> None:
        raw = raw_table(cell.model.__table__)
        with self.single.begin() as connection:
            values = {cell.column + name: part for name, part in parts.items()}
            assert connection.execute(update(raw).where(raw.c.id == cell.id).values(values)).rowcount == 1


def _joined(session: Session, cell: Cell) -> Any:
    other = aliased(cell.model)
    statement = select(getattr(other, cell.column)).select_from(cell.model).join(other, other.id == cell.model.id)
    return session.scalars(statement.where(cell.model.id == cell.id)).one()


def _inner(cell: Cell) -> Any:
    return select(cell.model.__table__).where(cell.model.id == cell.id)


def _in_union(session: Session, cell: Cell) -> Any:
    both = union_all(_inner(cell), _inner(cell)).subquery()
    one, two = session.scalars(select(both.c[cell.column])).all()
    assert one == two
    return one


READS: dict[str, Callable[[Session, Cell], Any]] = {
    "entity": lambda s, c: getattr(s.scalars(select(c.model).where(c.model.id == c.id)).one(), c.column),
    "get": lambda s, c: getattr(s.get_one(c.model, c.id), c.column),
    "column": lambda s, c: s.scalars(select(c.attribute).where(c.model.id == c.id)).one(),
    "label": lambda s, c: s.execute(select(c.attribute.label("x")).where(c.model.id == c.id)).one().x,
    "table": lambda s, c: s.connection().execute(_inner(c)).mappings().one()[c.column],
    "alias": lambda s, c: s.scalars(
        select(getattr(a := aliased(c.model), c.column)).where(a.id == c.id)
    ).one(),
    "join": _joined,
    "subquery": lambda s, c: s.scalars(select(_inner(c).subquery().c[c.column])).one(),
    "cte": lambda s, c: s.scalars(select(_inner(c).cte("x").c[c.column])).one(),
    "union": _in_union,
    "returning": lambda s, c: s.scalars(delete(c.model).where(c.model.id == c.id).returning(c.attribute)).one(),
}  # fmt: skip


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenedVault, TenantVaults]]:
    opened, vaults = new_vault(tmp_path_factory.mktemp("one")), new_tenants(tmp_path_factory.mktemp("many"))
    yield opened, vaults
    vaults.close()
    opened.close()


@pytest.fixture
def place(database_url: str, keys: tuple[OpenedVault, TenantVaults]) -> Iterator[Place]:
    opened, vaults = keys
    single, by_tenant = create_engine(database_url), create_engine(database_url)
    attach(single, opened, Base.metadata)
    attach(by_tenant, vaults, tenancy.Base.metadata)
    Base.metadata.create_all(single)
    tenancy.Base.metadata.create_all(by_tenant)
    with Session(single) as session:
        for model in (Holder, Twin):
            session.add_all([model(id=n, person=f"p{n}", ssn="s", note="n", visit="n") for n in (1, 2)])
        session.commit()
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(by_tenant) as session:
            session.add(Patient(id=number, ssn="s", note="n"))
            session.add(Account(id=number, tenant_id=name, iban="s", note="n"))
            session.commit()
    yield Place(single, by_tenant, opened, vaults)
    for engine in (single, by_tenant):
        engine.dispose()


@pytest.mark.parametrize(
    ("database_url", "move"), covering_params(DATABASES, MOVES, together=1), indirect=["database_url"]
)
def test_k08_01_swapped_values_do_not_open_and_the_others_do(place: Place, move: str) -> None:
    cells = MOVES[move]
    values = [place.read("column", cell) for cell in cells]
    assert [[place.read(way, cell) for cell in cells] for way in READS] == [values] * len(READS)
    stored = [place.stored(cell) for cell in cells]
    assert stored[0] != stored[1]
    for cell, parts in zip(cells, reversed(stored), strict=True):
        place.store(cell, parts)
    expected = OtherTenantError if move.startswith("tenants") else CannotOpenError
    moved = "|".join(sorted({cell.column for cell in cells}))  # who reads a whole row is told of the first
    for way in READS:
        for cell in cells:
            with pytest.raises(expected, match=rf"^{cell.model.__tablename__}\.({moved}): "):
                place.read(way, cell)
    assert {place.read("column", cell) for cell in UNTOUCHED if cell not in cells} == {"n", "s"}
    for cell, parts in zip(cells, stored, strict=True):
        place.store(cell, parts)
    assert [[place.read(way, cell) for cell in cells] for way in READS] == [values] * len(READS)


def test_a_row_given_to_another_tenant_does_not_open(place: Place) -> None:
    raw = raw_table(Account.__table__)
    with place.single.begin() as connection:
        connection.execute(update(raw).where(raw.c.id == 1).values(tenant_id="globex"))
    for way in READS:
        for column in ("iban", "note"):
            with pytest.raises(OtherTenantError, match=r"account\.(iban|note): names key .* of tenant 'globex'"):
                place.read(way, Cell(Account, column, 1))
    assert place.read("column", Cell(Account, "note", 2)) == "n"


@pytest.mark.parametrize(
    ("database_url", "move"),
    covering_params(DATABASES, [move for move in MOVES if not move.startswith("tenants")], together=1),
    indirect=["database_url"],
)
def test_scans_and_jobs_tell_moved_values(place: Place, move: str) -> None:
    cells = MOVES[move]
    stored = [place.stored(cell) for cell in cells]
    for cell, parts in zip(cells, reversed(stored), strict=True):
        place.store(cell, parts)
    place.opened.keyring.lifecycle.rotate(Purpose.DATA)
    live = place.opened.warm()
    for model in (Holder, Twin):
        moved = sorted({(cell.id,) for cell in cells if cell.model is model})
        fields = {name: place.opened.field(definition_of(getattr(model, name))) for name in ("ssn", "note", "visit")}
        scan = Scan(place.single, model.__table__, fields, tuple(fields), live)
        (batch,) = scan.batches()
        assert sorted({*zip(*batch.keys, strict=True), *moved}) == [(1,), (2,)]
        assert batch.unreadable == len(moved)
        tally = Job(Reencrypt.of(model.__table__, place.opened), place.single).run()
        with place.single.connect() as connection:
            left = sorted({tuple(json.loads(row["row_key"])) for row in listed(connection, model.__tablename__)})
        assert (left, tally.rewritten, tally.remaining) == (moved, 2 - len(moved), 0)
    for cell, parts in zip(cells, reversed(stored), strict=True):
        assert place.stored(cell) == parts  # left byte for byte


def test_k08_05_a_changed_term_misleads_no_look_up_and_hides_no_row(place: Place) -> None:
    cell = Cell(Holder, "ssn", 1)
    raw = raw_table(Holder.__table__)
    with Session(place.single) as session:
        session.execute(update(Holder).where(Holder.id == 2).values(ssn="other"))
        session.commit()
        term = place.stored(cell)["_bidx_a"]
        with place.single.begin() as connection:
            changed = bytes(term[:-1]) + bytes([term[-1] ^ 1])
            connection.execute(update(raw).where(raw.c.id == 1).values(ssn_bidx_a=changed))
        assert session.scalars(select(Holder.id).where(Holder.ssn == "other")).all() == [2]
        assert session.scalars(select(Holder.id).where(Holder.ssn == "s")).all() == []
        assert session.get_one(Holder, 1).ssn == "s"


def test_k07_03_a_column_holds_the_longest_value_and_no_longer_one(database_url: str, tmp_path: Path) -> None:
    from vault import InvalidValueError

    class Named(DeclarativeBase):
        pass

    class Name(Named):
        __tablename__ = "name"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(Sealed(String(64)))

    opened, engine = new_vault(tmp_path), create_engine(database_url)
    attach(engine, opened)
    Named.metadata.create_all(engine)
    if engine.dialect.name == "mysql":
        event.listen(
            engine, "connect", lambda raw, _: raw.cursor().execute("SET sql_mode = ''")
        )  # would cut in silence
    longest = "\N{WAVING HAND SIGN}" * 64
    with Session(engine) as session:
        session.add(Name(id=1, name=longest))
        session.commit()
        assert session.scalars(select(Name.name)).all() == [longest]
        session.add(Name(id=2, name=longest + "x"))
        with pytest.raises(InvalidValueError, match=r"longer than String\(64\)"):
            session.commit()
    engine.dispose()
    opened.close()
