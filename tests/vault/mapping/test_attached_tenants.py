"""Whose keys seal, ask and open: those of the tenant in force, or of the tenant that the row names."""

import gc
import time
import uuid
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    create_engine,
    insert,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from kms import KeyringError, Purpose
from tests.vault.mapping.driver_spy import DriverSpy
from tests.vault.tenancy import Account, Client, Member, Patient, new_tenants
from vault import (
    BlindIndex,
    DefinitionError,
    DestroyedKeyError,
    OpenedVault,
    OtherTenantError,
    Sealed,
    SealedColumnError,
    TenantError,
    TenantVaults,
    attach,
)
from vault.mapping.attached_tenants import tenant_name

P, A = Patient.__table__, Account.__table__


@pytest.fixture
def engine(tenancy: tuple[Engine, DriverSpy]) -> Engine:
    return tenancy[0]


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with Session(engine) as session:
        yield session


@pytest.fixture
def accounts(session: Session) -> Session:
    """One account each of two tenants, and one without any value."""
    session.add_all(
        [
            Account(id=1, tenant_id="acme", iban="plain§1", note="plain§n1"),
            Account(id=2, tenant_id="globex", iban="plain§1", note="plain§n2"),
            Account(id=3),
        ]
    )
    session.commit()
    return session


def test_rows_of_one_tenant_do_not_open_under_another(engine: Engine, vaults: TenantVaults) -> None:
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(engine) as session:
            session.add(Patient(id=number, ssn="plain§same", note="plain§n"))
            session.commit()
            assert session.scalars(select(Patient.id).where(Patient.ssn == "plain§same")).all() == [number]
            assert session.scalars(select(Patient.id).where(Patient.ssn.in_(["plain§same"]))).all() == [number]
            assert session.scalars(select(Patient.note).where(Patient.id == number)).all() == ["plain§n"]
    with vaults.tenant("globex"), Session(engine) as session:
        with pytest.raises(OtherTenantError, match=r"patient\.note: names key \w+, which is not .* tenant 'globex'"):
            session.scalars(select(Patient.note).order_by(Patient.id)).all()
        assert session.scalars(select(Patient.city)).all() == [None, None]
        assert len(session.scalars(select(Patient.id).where(Patient.ssn != "plain§same")).all()) == 1


def test_a_compiled_statement_serves_each_model_and_tenant_by_its_own_keys(
    engine: Engine, vaults: TenantVaults
) -> None:
    for round_ in range(3):
        for number, name in enumerate(("acme", "globex", "umbrella"), 1):
            with vaults.tenant(name), Session(engine) as session:
                for model in (Patient, Client):
                    if round_ == 0:
                        session.execute(insert(model).values(id=number, ssn="plain§123-4", note=f"plain§{name}"))
                        session.commit()
                    asked = select(model.id, model.note).where(model.ssn == "plain§123-4")
                    assert [tuple(row) for row in session.execute(asked)] == [(number, f"plain§{name}")]
                found = session.scalars(select(Client.id).where(Client.ssn == "plain§1234")).all()
                assert found == [number]
                assert session.scalars(select(Patient.id).where(Patient.ssn == "plain§1234")).all() == []


def test_a_value_and_its_terms_are_the_named_tenants(accounts: Session, vaults: TenantVaults) -> None:
    raw = accounts.execute(text("SELECT tenant_id, iban, iban_bidx_a, note FROM account ORDER BY id")).all()
    for name, iban, term, note in raw[:2]:
        mine = {r.key_id for r in vaults.vault(name).keyring.records(Purpose.DATA)}
        assert {iban[2:6], note[2:6]} <= mine
        assert term[1:5] in {r.key_id for r in vaults.vault(name).keyring.records(Purpose.INDEX)}
    assert tuple(raw[2]) == (None, None, None, None)


def test_rows_of_several_tenants_are_read_in_one_query(accounts: Session) -> None:
    assert [tuple(r) for r in accounts.execute(select(Account.iban, Account.note).order_by(Account.id))] == [
        ("plain§1", "plain§n1"),
        ("plain§1", "plain§n2"),
        (None, None),
    ]
    assert [a.note for a in accounts.scalars(select(Account).order_by(Account.id))] == ["plain§n1", "plain§n2", None]
    other = aliased(Account)
    joined = select(Account.note, other.note).join(other, Account.id == other.id - 1).order_by(Account.id)
    assert [tuple(row) for row in accounts.execute(joined)] == [("plain§n1", "plain§n2"), ("plain§n2", None)]
    both = union_all(select(A.c.id, A.c.tenant_id, A.c.note), select(A.c.id, A.c.tenant_id, A.c.note)).subquery()
    assert len(accounts.scalars(select(both.c.note)).all()) == 6
    returned = accounts.scalars(insert(Account).values(id=9, tenant_id="umbrella", note="plain§9").returning(Account))
    assert returned.one().note == "plain§9"


def test_a_value_read_without_its_tenant_is_refused(accounts: Session) -> None:
    inner = select(A.c.note).subquery()
    with pytest.raises(SealedColumnError, match="select tenant_id beside it"):
        accounts.execute(select(inner.c.note))


def test_while_a_tenant_is_in_force_only_its_rows_seal_and_open(engine: Engine, vaults: TenantVaults) -> None:
    with vaults.tenant("acme"), Session(engine) as session:
        session.add(Account(id=1, tenant_id="acme", note="plain§1"))
        session.flush()
        with pytest.raises(OtherTenantError, match="another tenant's than 'acme', which is in force"):
            session.execute(insert(Account).values(id=2, tenant_id="globex", note="plain§2"))
        session.commit()
    with Session(engine) as session:
        session.add(Account(id=2, tenant_id="globex", note="plain§2"))
        session.commit()
    with vaults.tenant("acme"), Session(engine) as session:
        assert session.scalars(select(Account.note).where(Account.tenant_id == "acme")).all() == ["plain§1"]
        with pytest.raises(OtherTenantError, match="ask for its rows alone"):
            session.scalars(select(Account.note)).all()


def test_a_look_up_finds_the_rows_of_the_tenant_in_force(
    accounts: Session, engine: Engine, vaults: TenantVaults
) -> None:
    question = select(Account.id).where(Account.iban == "plain§1")
    with pytest.raises(TenantError, match="no tenant is in force"):
        accounts.scalars(question)
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(engine) as session:
            assert session.scalars(question).all() == [number]


def test_a_row_is_changed_where_its_tenant_is_known(accounts: Session) -> None:
    account = accounts.get_one(Account, 1)
    account.note, account.iban = "plain§new", None
    accounts.commit()
    assert (account.note, account.iban) == ("plain§new", None)
    accounts.execute(update(Account).where(Account.tenant_id == "globex").values(note="plain§all"))
    assert accounts.scalars(select(Account.note).order_by(Account.id)).all() == ["plain§new", "plain§all", None]
    for statement in (
        update(A).where(A.c.id == 1).values(note="plain§x"),
        update(A).where(A.c.tenant_id.in_(["acme"])).values(note="plain§x"),
    ):
        with pytest.raises(SealedColumnError, match=r"with tenant_id given by =="):
            accounts.execute(statement)
    accounts.execute(update(A).where(A.c.id == 1).values(note=None))
    assert accounts.scalars(select(A.c.note).where(A.c.id == 1)).all() == [None]


def test_a_rows_tenant_does_not_change(accounts: Session) -> None:
    with pytest.raises(SealedColumnError, match=r"account\.tenant_id cannot change"):
        accounts.execute(update(A).where(A.c.id == 1).values(tenant_id="globex"))
    account = accounts.get_one(Account, 1)
    account.tenant_id = "globex"
    with pytest.raises(SealedColumnError, match=r"account\.tenant_id"):
        accounts.flush()


def test_a_value_without_a_tenant_is_not_written(session: Session) -> None:
    with pytest.raises(SealedColumnError, match=r"account\.note is bound to its row: give tenant_id"):
        session.execute(insert(Account).values(id=1, note="plain§"))
    with pytest.raises(TenantError, match="NULL or empty"):
        session.execute(insert(Account).values(id=1, tenant_id="", note="plain§"))
    with pytest.raises(KeyringError, match="no keyring called 'nobody'"):
        session.execute(insert(Account).values(id=1, tenant_id="nobody", note="plain§"))


def test_upserts_name_the_tenant_as_their_target(accounts: Session) -> None:
    new = sqlite.insert(A).values(id=1, tenant_id="acme", note="plain§up")
    with pytest.raises(SealedColumnError, match="an upsert needs those as index_elements"):
        accounts.execute(new.on_conflict_do_update(index_elements=[A.c.id], set_={"note": new.excluded.note}))


def test_a_batch_of_several_tenants_is_sealed_row_by_row(session: Session, vaults: TenantVaults) -> None:
    names = ["acme", "globex", "umbrella"]
    rows: list[dict[str, Any]] = [
        {"id": n, "tenant_id": names[n % 3], "iban": None if n % 5 == 0 else f"plain§{n}", "note": f"plain§n{n}"}
        for n in range(30)
    ]
    session.execute(insert(Account), rows)
    stored = select(A.c.id, A.c.tenant_id, A.c.iban, A.c.note).order_by(A.c.id)
    assert [dict(row._mapping) for row in session.execute(stored)] == rows
    session.execute(insert(A).values([{**row, "id": row["id"] + 100} for row in rows]))
    assert session.scalars(select(A.c.note).where(A.c.id >= 100).order_by(A.c.id)).all() == [r["note"] for r in rows]
    session.commit()
    with vaults.tenant("umbrella"):
        assert session.scalars(select(A.c.id).where(A.c.iban == "plain§2").order_by(A.c.id)).all() == [2, 102]


@pytest.mark.parametrize(("kind", "value"), [(Integer(), 42), (Uuid(), uuid.UUID(int=7)), (String(9), "42")])
def test_a_tenant_may_be_named_by_a_number_or_uuid(tmp_path: Any, kind: Any, value: Any) -> None:
    vaults = new_tenants(tmp_path, [tenant_name(value)])
    table = Table(
        "t",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("org", kind),
        Column("x", Sealed(Text, index=BlindIndex(), tenant="org")),
    )
    engine = create_engine("sqlite://")
    attach(engine, vaults)
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(insert(table).values(id=1, org=value, x="plain§"))
        assert connection.scalars(select(table.c.x)).all() == ["plain§"]
    engine.dispose()
    vaults.close()


def test_a_tenant_column_is_declared_like_a_bound_one() -> None:
    def table(*columns: Column[Any]) -> Table:
        return Table("t", MetaData(), *columns, Column("x", Sealed(Text, tenant="org")))

    with pytest.raises(DefinitionError, match="no column of t"):
        table(Column("id", Integer, primary_key=True))
    with pytest.raises(DefinitionError, match="not by bytes"):
        table(Column("org", LargeBinary))
    with pytest.raises(DefinitionError, match="server assigns"):
        table(Column("org", Integer, primary_key=True))
    with pytest.raises(DefinitionError, match="server assigns"):
        table(Column("org", String, server_default="a"))
    made = table(Column("org", String))
    assert repr(made.c.x.type) == "Sealed(Text(), tenant='org')"
    assert made.c.x.type.owner.definition.bound == ()


def test_a_vault_of_one_keyring_does_not_serve_a_field_of_tenants(opened: OpenedVault) -> None:
    engine = create_engine("sqlite://")
    attach(engine, opened)
    with engine.begin() as connection:
        A.create(connection)
        with pytest.raises(SealedColumnError, match=r"tenant_id, .* open_tenants\(\)"):
            connection.execute(insert(A).values(id=1, tenant_id="acme", note="plain§"))
    engine.dispose()


def test_a_destroyed_key_is_told_as_such(tmp_path: Any) -> None:
    vaults = new_tenants(tmp_path)
    engine = create_engine("sqlite://")
    attach(engine, vaults)
    with engine.begin() as connection, vaults.tenant("acme"):
        P.create(connection)
        connection.execute(insert(P).values(id=1, note="plain§"))
        keyring = vaults.current().keyring
        vaults.key_store.erase_keyring(keyring.id)
        keyring.records()
        with pytest.raises(DestroyedKeyError):
            connection.scalars(select(P.c.note)).all()
    engine.dispose()
    vaults.close()


def test_an_engine_holds_no_tenant_that_was_let_go_of(tmp_path: Any) -> None:
    names = [f"t{n}" for n in range(5)]
    vaults = new_tenants(tmp_path, names, most_open=2)
    engine = create_engine("sqlite://")
    attach(engine, vaults, MetaData())
    gone = []
    with engine.begin() as connection:
        P.create(connection)
        for number, name in enumerate(names):
            with vaults.tenant(name):
                connection.execute(insert(P).values(id=number, ssn="plain§", note="plain§"))
                assert connection.scalars(select(P.c.note).where(P.c.ssn == "plain§")).all() == ["plain§"]
                gone.append(weakref.ref(vaults.current().keyring))
    end = time.monotonic() + 20
    while not all(ref() is None for ref in gone[:3]) and time.monotonic() < end:
        time.sleep(0.05)  # its refreshing thread may be in the midst of a step
        gc.collect()
    assert [ref() is None for ref in gone] == [True, True, True, False, False]
    engine.dispose()
    vaults.close()


@pytest.mark.parametrize("named", [None, "", b"acme", 1.5])
def test_what_names_no_tenant(named: object) -> None:
    with pytest.raises(TenantError, match="NULL or empty"):
        tenant_name(named)


def test_a_row_that_lost_its_tenant_is_named(accounts: Session) -> None:
    accounts.execute(text("UPDATE account SET tenant_id = NULL WHERE id = 1"))
    with pytest.raises(TenantError, match="NULL or empty"):
        accounts.scalars(select(A.c.note)).all()


def test_an_index_in_a_keyring_of_its_own_answers_over_tenants(session: Session, vaults: TenantVaults) -> None:
    for number, name in enumerate(("acme", "globex", "umbrella")):
        session.add(Member(id=number, tenant_id=name, email=f"plain§{number}", phone="plain§+1-2"))
    session.commit()
    assert [m.tenant_id for m in session.scalars(select(Member).where(Member.email == "PLAIN§1"))] == ["globex"]
    two = select(Member.email).where(Member.email.in_(["plain§0", "plain§2"]))
    assert sorted(str(email) for email in session.scalars(two)) == ["plain§0", "plain§2"]
    with pytest.raises(TenantError, match="no tenant is in force"):  # its first index is each tenant's own
        session.scalars(select(Member.id).where(Member.phone == "plain§+1-2"))
    with vaults.tenant("globex"):
        assert session.scalars(select(Member.id).where(Member.phone == "plain§+1-2")).all() == [1]
        assert session.scalars(select(Member.id).where(Member.email == "plain§2")).all() == [2]
        with pytest.raises(OtherTenantError):
            session.scalars(select(Member.email).where(Member.email == "plain§2")).all()


def test_such_an_index_is_unique_over_tenants(session: Session) -> None:
    session.add(Member(id=1, tenant_id="acme", email="plain§1"))
    session.commit()
    session.add(Member(id=2, tenant_id="globex", email="PLAIN§1"))
    with pytest.raises(IntegrityError):
        session.commit()
