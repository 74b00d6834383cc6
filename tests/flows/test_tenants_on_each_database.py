"""Rows of several tenants, written and read by each database in each way."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, create_engine, insert, select, update
from sqlalchemy.orm import Session

from tests.vault.tenancy import TENANTS, Account, Base, Passport, Patient, Visa, new_tenants
from vault import (
    OtherTenantError,
    SealedColumnError,
    TenantVaults,
    attach,
    definition_of,
    equal_together,
    find_all,
    via,
)
from vault.rows.raw_table import raw_table

A = Account.__table__
ROWS = [{"id": n, "tenant_id": t, "iban": f"iban{n}", "note": f"note{n}"} for n, t in ((1, "acme"), (2, "globex"))]
ALIKE = ("ACME", "acme ")  # to a collation
Place = tuple[Engine, TenantVaults]

WRITES: dict[str, Callable[[Session], Any]] = {
    "add": lambda s: s.add_all([Account(**row) for row in ROWS]),
    "merge": lambda s: [s.merge(Account(**row)) for row in ROWS],
    "bulk mappings": lambda s: s.bulk_insert_mappings(Account, ROWS),
    "bulk objects": lambda s: s.bulk_save_objects([Account(**row) for row in ROWS]),
    "insert with a list": lambda s: s.execute(insert(Account), ROWS),
    "insert with values": lambda s: [s.execute(insert(Account).values(**row)) for row in ROWS],
    "insert with many values": lambda s: s.execute(insert(Account).values(ROWS)),
    "insert returning": lambda s: s.scalars(insert(Account).returning(Account), ROWS).all(),
    "core": lambda s: s.connection().execute(A.insert(), ROWS),
    "bindparam": lambda s: s.execute(
        insert(A).values(
            id=bindparam("a"), tenant_id=bindparam("b"), iban=bindparam("c"), note=bindparam("d")
        ),
        [dict(zip("abcd", row.values(), strict=True)) for row in ROWS],
    ),
}  # fmt: skip


@pytest.fixture
def place(database_url: str, tmp_path: Path) -> Iterator[Place]:
    vaults, engine = new_tenants(tmp_path, (*TENANTS, *ALIKE)), create_engine(database_url)
    attach(engine, vaults, Base.metadata)
    Base.metadata.create_all(engine)
    yield engine, vaults
    engine.dispose()
    vaults.close()


def _changed(session: Session) -> None:
    accounts = [Account(id=row["id"], tenant_id=row["tenant_id"], note="old") for row in ROWS]
    session.add_all(accounts)
    session.commit()
    for account, row in zip(accounts, ROWS, strict=True):
        account.iban, account.note = str(row["iban"]), str(row["note"])


def _updated(session: Session) -> None:
    session.execute(insert(Account), [{**row, "iban": None, "note": "old"} for row in ROWS])
    for row in ROWS:
        values = {"iban": row["iban"], "note": row["note"]}
        where = (Account.id == row["id"], Account.tenant_id == row["tenant_id"])
        session.execute(update(Account).where(*where).values(values))


WRITES |= {"changed objects": _changed, "update": _updated}


def test_each_way_of_writing_seals_for_the_rows_tenant(place: Place) -> None:
    engine, vaults = place
    raw = raw_table(A)
    for way, write in WRITES.items():
        with Session(engine) as session:
            write(session)
            session.commit()
            read = session.execute(select(A.c.id, A.c.tenant_id, A.c.iban, A.c.note).order_by(A.c.id))
            assert [dict(row) for row in read.mappings()] == ROWS, way
            stored = [dict(row) for row in session.execute(select(raw).order_by(raw.c.id)).mappings()]
            session.execute(A.delete())
            session.commit()
        for row, plain in zip(stored, ROWS, strict=True):
            vault = vaults.vault(row["tenant_id"])
            iban, note = (vault.field(definition_of(column)) for column in (Account.iban, Account.note))
            assert (iban.open(row["iban"], row), note.open(row["note"])) == (plain["iban"], plain["note"]), way
            assert bytes(row["iban_bidx_a"]) == iban.terms(plain["iban"])["iban_bidx_a"], way


def test_a_tenant_whose_name_a_collation_takes_for_another_is_another(place: Place) -> None:
    engine, _ = place
    with Session(engine) as session:
        session.execute(insert(Account), ROWS)
        for name in ALIKE:
            session.execute(update(Account).where(Account.tenant_id == name).values(note="x"))
        assert session.scalars(select(Account.note).order_by(Account.id)).all() == ["note1", "note2"]
        with pytest.raises(SealedColumnError, match="tenant_id given by =="):
            session.execute(update(Account).where(Account.id == 1).values(note="x"))


def test_a_look_up_finds_one_tenants_rows(place: Place) -> None:
    engine, vaults = place
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(engine) as session:
            session.add(Patient(id=number, ssn="same"))
            session.add(Account(id=number, tenant_id=name, iban="same"))
            session.commit()
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(engine) as session:
            for model, column in ((Patient, Patient.ssn), (Account, Account.iban)):
                assert session.scalars(select(model.id).where(column == "same")).all() == [number]
                with pytest.raises(OtherTenantError):
                    session.scalars(select(column)).all()
                session.rollback()
    with Session(engine) as session:
        assert session.scalars(select(Account.iban)).all() == ["same", "same"]


def test_each_kind_of_index_answers_for_one_tenant_or_for_all(place: Place) -> None:
    engine, vaults = place
    same = {"holder": "Ann", "number": "x-1234"}
    with Session(engine) as session:
        session.execute(insert(Passport), [{"id": n, "tenant_id": t, **same} for n, t in ((1, "acme"), (2, "globex"))])
        session.commit()
        for by in ({Passport.number: via("rough", "x-1234")}, {Passport.number: via("end", "1234")}):
            assert [found.id for found in find_all(session, Passport, by=by)] == [1, 2]
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(engine) as session:
            session.add(Visa(id=number, **same))
            session.commit()
            assert [found.id for found in find_all(session, Passport, by={"passport_whole": same})] == [number]
            assert [found.id for found in find_all(session, Visa, by={"visa_whole": same})] == [number]
            whole = equal_together(Passport, "passport_whole", {**same, "holder": "ANN"})
            assert session.scalars(select(Passport.id).where(whole)).all() == [number]
            holders = Passport.__table__.c.holder_bidx_a == Visa.__table__.c.holder_bidx_a
            joined = session.execute(select(Passport.id, Visa.id).join(Visa, holders)).all()
            assert sorted(map(tuple, joined)) == [
                (n, n) for n in range(1, number + 1)
            ]  # never one tenant's to another's
