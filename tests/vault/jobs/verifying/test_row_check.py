"""What is wrong with rows is told for every kind of index, slot, generation and keyring."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, insert, update

from kms import Keyring, KeyStore, open_provider
from kms.providers.local import create_key_file
from tests.vault import tenancy
from tests.vault.mapping.ward import Base, Doctor, Patient
from tests.vault.phases import set_phase
from vault import Argon2id, BlindIndex, CompoundIndex, Sealed, TenantVaults
from vault.attaching import attach
from vault.changeover.phase import Phase, Subject
from vault.errors import DefinitionError
from vault.jobs.verifying.page import InOrder
from vault.jobs.verifying.row_check import RowCheck
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn

PATIENTS, DOCTORS = Patient.__table__, Doctor.__table__
QUICK = Argon2id(memory_kib=7168, iterations=5, lanes=1)
Wrong = list[tuple[Any, str, str]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenedVault]:
    create_key_file(tmp_path / "kek")
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    vault = OpenedVault(Keyring.create(store, open_provider(f"local:{tmp_path / 'kek'}"), "main"), store)
    yield vault
    vault.close()


@pytest.fixture
def ward(opened: OpenedVault, database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    attach(engine, opened, Base.metadata)
    Base.metadata.create_all(engine)
    row = {"ward": 1, "code": "c", "card": "1234567", "email": "a@b.example", "name": "Ann", "born": date(1980, 1, 1)}
    with engine.begin() as connection:
        connection.execute(insert(PATIENTS), [row | {"id": at, "name": f"Ann {at}"} for at in range(4)])
        connection.execute(insert(PATIENTS), [{"id": 4, "code": None, "card": "12", "name": "Bob"}])
        connection.execute(insert(DOCTORS), [{"id": 1, "who": "Eve", "pair": "p", "number": 1}])
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


def wrong(engine: Engine, table: Table, opened: OpenedVault | TenantVaults, **settings: Any) -> Wrong:
    check = RowCheck(table, opened, **settings)
    page = InOrder(engine, check.table, check.reads).take(100)
    return [(one.key[0], one.column, one.kind.value) for one in check.check(page)]


def alter(engine: Engine, table: Table, key: int, **columns: Any) -> None:
    raw = raw_table(table)
    with engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.id == key).values(columns))


def stored(engine: Engine, table: Table, key: int, column: str) -> Any:
    raw = raw_table(table)
    with engine.connect() as connection:
        return connection.scalar(raw.select().with_only_columns(raw.c[column]).where(raw.c.id == key))


def test_rows_with_every_kind_of_index_are_whole(ward: Engine, opened: OpenedVault) -> None:
    assert wrong(ward, PATIENTS, opened) == wrong(ward, DOCTORS, opened) == []


@pytest.mark.parametrize(
    "column", ["code_bidx_a", "card_last4_a", "email_at_a", "name_bidx_a", "born_y_a", "whole_a", "rough_a"]
)
def test_an_altered_term_of_each_kind_is_found(ward: Engine, opened: OpenedVault, column: str) -> None:
    term = stored(ward, PATIENTS, 2, column)
    alter(ward, PATIENTS, 2, **{column: term[:-1] + bytes([term[-1] ^ 1])})
    assert wrong(ward, PATIENTS, opened) == [(2, column, "term is wrong")]
    alter(ward, PATIENTS, 2, **{column: None})
    assert wrong(ward, PATIENTS, opened) == [(2, column, "term is lacking")]
    other_slot = column[:-1] + "b"
    alter(ward, PATIENTS, 2, **{column: term, other_slot: term})
    assert wrong(ward, PATIENTS, opened) == [(2, other_slot, "term in a slot without a key")]


def test_a_term_beside_null_is_found_where_one_part_is_null_too(ward: Engine, opened: OpenedVault) -> None:
    for column in ("code_bidx_a", "whole_a", "rough_a"):
        term = stored(ward, PATIENTS, 1, column)
        alter(ward, PATIENTS, 4, **{column: term[:-1] + bytes([term[-1] ^ 1])})  # whole is unique
    expected = [(4, name, "term without a value") for name in ("code_bidx_a", "whole_a", "rough_a")]
    assert sorted(wrong(ward, PATIENTS, opened)) == sorted(expected)


def test_a_term_for_a_part_that_the_value_has_not_is_found(ward: Engine, opened: OpenedVault) -> None:
    alter(ward, PATIENTS, 4, card_last4_a=stored(ward, PATIENTS, 1, "card_last4_a"))
    assert wrong(ward, PATIENTS, opened) == [(4, "card_last4_a", "term is wrong")]


def test_of_a_value_that_does_not_open_the_terms_are_not_spoken_of(ward: Engine, opened: OpenedVault) -> None:
    alter(ward, PATIENTS, 2, name=bytes(50), name_bidx_a=None, whole_a=None)
    assert wrong(ward, PATIENTS, opened) == [(2, "name", "not sealed")]


def test_a_row_bound_value_does_not_open_in_another_row(ward: Engine, opened: OpenedVault) -> None:
    alter(ward, DOCTORS, 1, number=2)
    assert wrong(ward, DOCTORS, opened) == [(1, "pair", "does not open")]


def test_terms_may_be_left_to_others(ward: Engine, opened: OpenedVault) -> None:
    alter(ward, PATIENTS, 2, code_bidx_a=None, card=b"x")
    assert wrong(ward, PATIENTS, opened, terms=False) == [(2, "card", "not sealed")]


CODE = Subject("ward_patient", "code", "bidx")
WHOLE = Subject("ward_patient", "", "whole")


@pytest.mark.parametrize(
    ("phase", "a", "b"),
    [(Phase(number), number < 3, number > 2) for number in range(1, 5)],
)
def test_while_a_slot_is_filled_or_emptied_it_may_be_null_and_never_wrong(
    ward: Engine, opened: OpenedVault, phase: Phase, a: bool, b: bool
) -> None:
    """a, b: whether look-ups ask the slot, so that a lacking term is a fault."""
    for subject in (CODE, WHOLE):
        set_phase(opened.key_store, opened.keyring, subject, phase)
    # The same key in both slots, so that the terms of a are those of b.
    for column in ("code_bidx", "whole"):
        for key in range(4):
            alter(ward, PATIENTS, key, **{f"{column}_b": stored(ward, PATIENTS, key, f"{column}_a")})
    assert wrong(ward, PATIENTS, opened) == []
    for column in ("code_bidx", "whole"):
        alter(ward, PATIENTS, 1, **{f"{column}_a": None})
        alter(ward, PATIENTS, 2, **{f"{column}_b": None})
        alter(ward, PATIENTS, 3, **{f"{column}_a": b"x" * 6, f"{column}_b": b"x" * 6})
    lacking = [(1, f"{c}_a", "term is lacking") for c in ("code_bidx", "whole") if a]
    lacking += [(2, f"{c}_b", "term is lacking") for c in ("code_bidx", "whole") if b]
    changed = [(3, f"{c}_{s}", "term is wrong") for c in ("code_bidx", "whole") for s in "ab"]
    assert sorted(wrong(ward, PATIENTS, opened)) == sorted(lacking + changed)


def test_a_change_that_another_process_began_is_known_after_refresh(ward: Engine, opened: OpenedVault) -> None:
    check = RowCheck(PATIENTS, opened)
    assert check.check(InOrder(ward, check.table, check.reads).take(100)) == []
    other = OpenedVault(Keyring.open(opened.key_store, opened.keyring._provider, "main"), opened.key_store)
    set_phase(opened.key_store, other.keyring, CODE, Phase.DUAL_ASK_OLD)
    alter(ward, PATIENTS, 1, code_bidx_b=stored(ward, PATIENTS, 1, "code_bidx_a"))
    page = InOrder(ward, check.table, check.reads).take(100)
    assert [one.kind.value for one in check.check(page)] == ["term in a slot without a key"]
    check.refresh()
    assert check.check(page) == []


def _slow_table() -> Table:
    return Table(
        "slowly",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("pin", Sealed(Text, index=[BlindIndex(slow=QUICK), BlindIndex(name="fast")])),
        Column("code", Sealed(Text)),
        CompoundIndex("both", "pin", "code", slow=QUICK),
    )


def test_slow_indexes_are_recomputed_unless_they_are_skipped(opened: OpenedVault) -> None:
    table, engine = _slow_table(), create_engine("sqlite://")
    attach(engine, opened, table.metadata)
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": 1, "pin": "1234", "code": "x"}])
    assert RowCheck(table, opened).slow == ["pin bidx", "both"]
    assert RowCheck(table, opened, terms=False).slow == []
    assert wrong(engine, table, opened) == []
    alter(engine, table, 1, pin_bidx_a=b"x" * 37, both_a=b"x" * 37, pin_fast_a=b"x" * 37)
    changed = ["pin_bidx_a", "pin_fast_a", "both_a"]
    assert wrong(engine, table, opened) == [(1, name, "term is wrong") for name in changed]
    assert wrong(engine, table, opened, skip_slow=True) == [(1, "pin_fast_a", "term is wrong")]
    engine.dispose()


def _aged(generation: int) -> Table:
    index = BlindIndex()
    kind = Sealed(Text, index=index, generation=generation, **({"bind": "owner"} if generation else {}))
    columns = [Column("id", Integer, primary_key=True, autoincrement=False), Column("owner", Integer)]
    return Table("aged", MetaData(), *columns, Column("name", kind))


def test_values_of_an_older_generation_open_by_it(opened: OpenedVault) -> None:
    old, new, engine = _aged(0), _aged(1), create_engine("sqlite://")
    attach(engine, opened, old.metadata)
    old.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(old), [{"id": 1, "owner": 5, "name": "Ann"}])
    check = RowCheck(new, opened)
    assert check.check(InOrder(engine, check.table, check.reads).take(9)) == []
    alter(engine, new, 1, name=stored(engine, new, 1, "name")[:-1] + b"x")
    assert wrong(engine, new, opened) == [(1, "name", "does not open")]
    engine.dispose()


@pytest.fixture
def tenants(tmp_path: Path, database_url: str) -> Iterator[tuple[Engine, TenantVaults]]:
    folder = tmp_path / "tenants"
    folder.mkdir()
    vaults, engine = tenancy.new_tenants(folder), create_engine(database_url)
    attach(engine, vaults, tenancy.Base.metadata)
    tenancy.Base.metadata.create_all(engine)
    with engine.begin() as connection:
        passport = {"holder": "Ann", "number": "12345"}
        rows = [{"id": at, "tenant_id": name, **passport} for at, name in enumerate(tenancy.TENANTS)]
        connection.execute(insert(tenancy.Passport), rows)
        members = [
            {"id": at, "tenant_id": name, "email": f"{name}@x.example", "phone": "55-1"}
            for at, name in enumerate(tenancy.TENANTS)
        ]
        connection.execute(insert(tenancy.Member), members)
        for at, name in enumerate(tenancy.TENANTS):
            with vaults.tenant(name):
                connection.execute(insert(tenancy.Visa), [{"id": at, "holder": "Ann", "number": "1"}])
    yield engine, vaults
    tenancy.Base.metadata.drop_all(engine)
    engine.dispose()
    vaults.close()


@pytest.mark.parametrize("kind", [tenancy.Passport, tenancy.Member, tenancy.Visa])
def test_each_tenants_rows_are_whole_by_its_own_keyring(tenants: tuple[Engine, TenantVaults], kind: Any) -> None:
    engine, vaults = tenants
    assert wrong(engine, kind.__table__, vaults) == []


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (tenancy.Passport, ["holder_bidx_a", "number_rough_a", "number_end_a", "passport_whole_a"]),
        (tenancy.Member, ["email_bidx_a", "phone_bidx_a", "phone_all_a"]),
        (tenancy.Visa, ["holder_bidx_a", "visa_whole_a"]),
    ],
)
def test_wrong_terms_of_a_tenants_row_are_found_in_whichever_keyring_they_live(
    tenants: tuple[Engine, TenantVaults], kind: Any, columns: list[str]
) -> None:
    engine, vaults = tenants
    table = kind.__table__
    for column in columns:
        term = stored(engine, table, 1, column)
        alter(engine, table, 1, **{column: term[:-1] + bytes([term[-1] ^ 0x10])})
    assert sorted(wrong(engine, table, vaults)) == sorted((1, column, "term is wrong") for column in columns)


def test_a_row_given_to_another_tenant_and_a_keyring_that_is_not_there(tenants: tuple[Engine, TenantVaults]) -> None:
    engine, vaults = tenants
    table = tenancy.Passport.__table__
    alter(engine, table, 0, tenant_id="globex")
    alter(engine, table, 1, tenant_id="nobody")
    alter(engine, table, 2, tenant_id="nobody", holder=b"text", number=None)
    found = wrong(engine, table, vaults)
    assert [one for one in found if one[1] in {"holder", "number"}] == [
        (0, "holder", "unknown key"),
        (0, "number", "unknown key"),
        (1, "holder", "unknown key"),
        (1, "number", "unknown key"),
        (2, "holder", "not sealed"),
    ]
    assert {kind for at, _, kind in found if at == 2} == {"not sealed", "term without a value"}


def test_a_change_of_one_tenants_index_is_known_after_refresh(tenants: tuple[Engine, TenantVaults]) -> None:
    engine, vaults = tenants
    table = tenancy.Passport.__table__
    check = RowCheck(table, vaults)
    assert check.check(InOrder(engine, check.table, check.reads).take(9)) == []
    provider = vaults.vault("globex").keyring._provider
    other = Keyring.open(vaults.key_store, provider, "globex", refresh=False)
    set_phase(vaults.key_store, other, Subject("passport", "", "passport_whole"), Phase.DUAL_ASK_OLD)
    alter(engine, table, 1, passport_whole_b=stored(engine, table, 1, "passport_whole_a"))
    page = InOrder(engine, check.table, check.reads).take(9)
    assert [one.kind.value for one in check.check(page)] == ["term in a slot without a key"]
    check.refresh()
    assert check.check(page) == []
    other.close()


def test_a_table_without_a_primary_key_is_refused(opened: OpenedVault) -> None:
    table = Table("keyless", MetaData(), Column("name", Sealed(Text)))
    with pytest.raises(DefinitionError, match="no primary key to walk it by"):
        RowCheck(table, opened)
