"""Indexes over several columns whose rows are of several tenants."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from kms import Purpose
from tests.vault.mapping.driver_spy import DriverSpy
from tests.vault.tenancy import LOOKUP, Passport, Visa
from vault import (
    CompoundIndex,
    DefinitionError,
    OpenedVault,
    OtherTenantError,
    Sealed,
    SealedColumnError,
    TenantError,
    TenantVaults,
    attach,
    equal_together,
    find_all,
    via,
)

T = Passport.__table__
ROWS = [
    {"id": 1, "tenant_id": "acme", "holder": "plain§Ann", "number": "plain§1234"},
    {"id": 2, "tenant_id": "globex", "holder": "plain§Ann", "number": "plain§1234"},
    {"id": 3, "tenant_id": "acme", "holder": None, "number": "plain§1234"},
]


@pytest.fixture
def session(tenancy: tuple[Engine, DriverSpy]) -> Iterator[Session]:
    with Session(tenancy[0]) as session:
        yield session


def _changed(session: Session) -> None:
    old = [Passport(**{**row, "holder": "plain§old"}) for row in ROWS]
    for number, passport in enumerate(old):
        passport.number = f"plain§{number}"
    session.add_all(old)
    session.commit()
    for passport, row in zip(old, ROWS, strict=True):
        passport.number = row["number"]
        session.flush()  # of one part alone
        passport.holder = row["holder"]


def _updated(session: Session) -> None:
    session.execute(insert(T), [{"id": row["id"], "tenant_id": row["tenant_id"]} for row in ROWS])
    for row in ROWS:
        own = (T.c.id == row["id"], T.c.tenant_id == row["tenant_id"])
        session.execute(update(T).where(*own).values(holder=row["holder"], number=row["number"]))


WRITES: dict[str, Callable[[Session], Any]] = {
    "add": lambda s: s.add_all([Passport(**row) for row in ROWS]),
    "a list": lambda s: s.execute(insert(T), ROWS),
    "values": lambda s: [s.execute(insert(T).values(**row)) for row in ROWS],
    "many values": lambda s: s.execute(insert(T).values(ROWS)),
    "changed objects": _changed,
    "update": _updated,
}


@pytest.mark.parametrize("way", WRITES)
def test_a_rows_term_is_by_its_tenants_key(session: Session, vaults: TenantVaults, way: str) -> None:
    WRITES[way](session)
    session.commit()
    terms = session.execute(text("SELECT passport_whole_a, passport_whole_b FROM passport ORDER BY id")).all()
    assert [b for _, b in terms] == [None] * 3
    assert terms[2][0] is None
    for name, (term, _) in zip(("acme", "globex"), terms, strict=False):
        assert term[1:5] in {record.key_id for record in vaults.vault(name).keyring.records(Purpose.INDEX)}
    asked = {"holder": "PLAIN§ANN", "number": "plain§1234"}
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(session.get_bind()) as its:
            whole = equal_together(Passport, "passport_whole", asked)
            assert its.scalars(select(Passport.id).where(whole)).all() == [number]
            assert [found.id for found in find_all(its, Passport, by={"passport_whole": asked})] == [number]


def test_such_an_index_is_unique_within_each_tenant(session: Session) -> None:
    session.execute(insert(T), ROWS[:2])
    with pytest.raises(IntegrityError):
        session.execute(insert(T).values({**ROWS[0], "id": 4, "holder": "PLAIN§ann"}))


def test_a_question_needs_a_tenant_in_force(session: Session) -> None:
    session.execute(insert(T), ROWS)
    asked = {"holder": "plain§Ann", "number": "plain§1234"}
    with pytest.raises(TenantError, match="no tenant is in force"):
        session.scalars(select(T.c.id).where(equal_together(T, "passport_whole", asked))).all()
    with pytest.raises(TenantError, match="no tenant is in force"):
        list(find_all(session, T, by={"passport_whole": asked}))


def test_what_names_no_tenant_or_another_is_not_written(session: Session, vaults: TenantVaults) -> None:
    with pytest.raises(SealedColumnError, match=r"passport\.holder is bound to its row: give tenant_id"):
        session.execute(insert(T).values(id=1, holder="plain§", number="plain§"))
    with pytest.raises(SealedColumnError, match="tenant_id given by == in WHERE"):
        session.execute(update(T).where(T.c.id == 1).values(holder="plain§", number="plain§"))
    with vaults.tenant("globex"), pytest.raises(OtherTenantError, match=r"passport\.passport_whole"):
        session.execute(insert(T).values(ROWS[0]))


def test_an_index_of_all_tenants_may_be_truncated_or_partial(session: Session, vaults: TenantVaults) -> None:
    rows = [
        {"id": n, "tenant_id": ("acme", "globex", "umbrella")[n % 3], "number": f"plain§{n % 40:04}"} for n in range(80)
    ]
    session.execute(insert(T), rows)
    session.commit()
    home = vaults.home(LOOKUP).keyring.records(Purpose.INDEX)
    for (term,) in session.execute(text("SELECT number_rough_a FROM passport")):
        assert term[1:5] in {record.key_id for record in home}
    for question in (via("rough", "plain§0007"), via("end", "0007"), "plain§0007"):
        assert [row["id"] for row in find_all(session, T, by={T.c.number: question})] == [7, 47]


def test_by_the_tenant_in_force_each_finds_its_own(session: Session, vaults: TenantVaults) -> None:
    bind = session.get_bind()
    for number, name in enumerate(("acme", "globex"), 1):
        with vaults.tenant(name), Session(bind) as its:
            its.add(Visa(id=number, holder="plain§Ann", number="plain§1"))
            its.commit()
            by = {"visa_whole": {"holder": "plain§Ann", "number": "plain§1"}}
            assert [found.id for found in find_all(its, Visa, by=by)] == [number]
            assert [found.id for found in find_all(its, Visa, by={"holder": "plain§Ann"})] == [number]


def test_one_keyring_for_all_does_not_serve_it(opened: OpenedVault) -> None:
    engine = create_engine("sqlite://")
    attach(engine, opened)
    asked = {"holder": "plain§", "number": "plain§"}
    with engine.begin() as connection:
        T.create(connection)
        with pytest.raises(SealedColumnError, match=r"tenant_id, .* open_tenants\(\)"):
            connection.execute(select(T.c.id).where(equal_together(T, "passport_whole", asked)))
    engine.dispose()


def test_its_columns_have_one_tenant_column() -> None:
    with pytest.raises(DefinitionError, match=r"t\.both: .* give all of them one tenant="):
        Table(
            "t",
            MetaData(),
            Column("id", Integer, primary_key=True),
            Column("org", String(9)),
            Column("x", Sealed(Text, tenant="org")),
            Column("y", Sealed(Text)),
            CompoundIndex("both", "x", "y"),
        )


@pytest.mark.parametrize("option", ["keyring", "scope"])
def test_it_lives_in_no_other_keyring_and_is_not_shared(option: str) -> None:
    given: Any = {option: "look-ups"}
    with pytest.raises(
        DefinitionError,
        match="keyring= and scope= are of a BlindIndex",
    ):
        CompoundIndex("both", "x", "y", **given)
