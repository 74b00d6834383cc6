"""Tables whose rows belong to several keyrings: each value moves to the active key of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, String, Text, create_engine, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from kms import Purpose
from tests.vault.tenancy import TENANTS, Account, Base, Patient, new_tenants
from vault import Sealed, TenantVaults
from vault.attaching import attach
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.quarantine import listed
from vault.jobs.reencrypt import Reencrypt
from vault.jobs.row_keyrings import NOBODYS, OneKeyring, TenantKeyrings, keys_goal, row_keyrings
from vault.rows.raw_table import raw_table
from vault.rows.scan import key_id_of

pytestmark = pytest.mark.databases_in_turn

ROWS = 12


@pytest.fixture
def vaults(tmp_path: Path) -> Iterator[TenantVaults]:
    vaults = new_tenants(tmp_path)
    yield vaults
    vaults.close()


@pytest.fixture
def engine(database_url: str, vaults: TenantVaults) -> Engine:
    """Accounts that name their tenant, patients of whoever was in force, each tenant in turn."""
    engine = create_engine(database_url)
    attach(engine, vaults, Base.metadata)
    for model in (Account, Patient):
        model.__table__.create(engine)
    for at in range(ROWS):
        tenant = TENANTS[at % 3]
        with vaults.tenant(tenant), engine.begin() as connection:
            connection.execute(
                insert(Account.__table__).values(id=at, tenant_id=tenant, iban=f"iban {at}", note=f"note {at}")
            )
            connection.execute(insert(Patient.__table__).values(id=at + 1, ssn=f"ssn {at}", note=None))
    return engine


def active(vaults: TenantVaults, tenant: str) -> bytes:
    return vaults.vault(tenant).keyring.sealing(Purpose.DATA).key.key_id


def key_ids(engine: Engine, model: type, column: str) -> list[bytes | None]:
    raw = raw_table(model.__table__)  # type: ignore[attr-defined]
    with engine.connect() as connection:
        return [key_id_of(stored) for stored in connection.scalars(select(raw.c[column]).order_by(raw.c.id))]


@pytest.mark.parametrize(("model", "column"), [(Account, "iban"), (Account, "note"), (Patient, "ssn")])
def test_each_row_moves_to_its_own_tenant_s_key(vaults: TenantVaults, engine: Engine, model: type, column: str) -> None:
    """By the column that names the tenant, and where there is none by the keyring of the key that the value names."""
    before = key_ids(engine, model, column)
    for tenant in ("acme", "globex"):
        vaults.vault(tenant).keyring.lifecycle.rotate(Purpose.DATA)
    tally = Job(Reencrypt.of(model.__table__, vaults), engine).run()  # type: ignore[attr-defined]
    tally.require_complete()
    assert tally.rewritten == ROWS * 2 // 3
    after = key_ids(engine, model, column)
    assert after == [active(vaults, TENANTS[at % 3]) for at in range(ROWS)]
    assert after[2::3] == before[2::3], "a tenant whose key was not rotated keeps what it has"
    with vaults.tenant("globex"), engine.connect() as connection:
        table = model.__table__  # type: ignore[attr-defined]
        first = select(table.c[column]).where(table.c.id == (1 if model is Account else 2))
        assert connection.scalar(first) == f"{column} 1"


def test_a_value_of_another_tenant_than_its_row_s_is_left_and_listed(vaults: TenantVaults, engine: Engine) -> None:
    raw = raw_table(Account.__table__)
    with engine.begin() as connection:
        alien = connection.scalar(select(raw.c.note).where(raw.c.id == 1))
        connection.execute(update(raw).where(raw.c.id == 0).values(note=alien))
        connection.execute(update(raw).where(raw.c.id == 3).values(tenant_id=None))
        connection.execute(update(raw).where(raw.c.id == 6).values(tenant_id="nobody"))
    for tenant in TENANTS:
        vaults.vault(tenant).keyring.lifecycle.rotate(Purpose.DATA)
    tally = Job(Reencrypt.of(Account.__table__, vaults), engine).run()
    assert (tally.rewritten, tally.failed, tally.remaining) == (ROWS - 3, 3, 0)
    with engine.connect() as connection:
        reasons = {row["row_key"]: row["reason"] for row in listed(connection) if row["column_name"] == "note"}
        assert connection.scalar(select(raw.c.note).where(raw.c.id == 0)) == alien
    assert "not in the keyring" in reasons["[0]"]
    assert "NULL or empty" in reasons["[3]"]
    assert "no keyring called 'nobody'" in reasons["[6]"]


def test_nothing_is_due_of_a_tenant_whose_keyring_is_closed(vaults: TenantVaults, engine: Engine) -> None:
    keyring = vaults.vault("acme").keyring
    keyring.lifecycle.rotate(Purpose.DATA)
    keyring.lifecycle.deactivate(active(vaults, "acme"))
    tally = Job(Reencrypt.of(Account.__table__, vaults), engine).run()
    assert tally.failed == 0
    assert tally.outcome is JobState.COMPLETE


def test_a_value_of_nobody_s_key_is_listed(vaults: TenantVaults, engine: Engine) -> None:
    raw = raw_table(Patient.__table__)
    with engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.id == 1).values(ssn=b"\x01\x00\xff\xff\xff\xff" + bytes(40)))
    tally = Job(Reencrypt.of(Patient.__table__, vaults), engine).run()
    assert tally.failed == 1
    assert tally.why == (("ssn", NOBODYS, 1),)


class Later(DeclarativeBase):
    pass


class Letter(Later):
    __tablename__ = "letter"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(40))
    writer: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Sealed(Text, tenant="tenant_id", generation=1))


def test_values_of_an_older_generation_bound_to_other_columns_move_too(vaults: TenantVaults, tmp_path: Path) -> None:
    class Earlier(DeclarativeBase):
        pass

    class First(Earlier):
        __tablename__ = "letter"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        tenant_id: Mapped[str] = mapped_column(String(40))
        writer: Mapped[str] = mapped_column(String(40))
        body: Mapped[str] = mapped_column(Sealed(Text, tenant="tenant_id", bind=("id", "writer")))

    engine = create_engine(f"sqlite:///{tmp_path / 'letters.db'}")
    attach(engine, vaults)
    Earlier.metadata.create_all(engine)
    rows = [{"id": at, "tenant_id": TENANTS[at % 3], "writer": "w", "body": f"text {at}"} for at in range(6)]
    with engine.begin() as connection:
        connection.execute(insert(First.__table__), rows)
    later = new_vaults_of(vaults)
    Job(Reencrypt.of(Letter.__table__, later), engine).run().require_complete()
    fresh = create_engine(engine.url)
    attach(fresh, later)
    with fresh.connect() as connection:
        found = connection.scalars(select(Letter.__table__.c.body).order_by(Letter.__table__.c.id)).all()
    assert found == [f"text {at}" for at in range(6)]


def new_vaults_of(vaults: TenantVaults) -> TenantVaults:
    """As another process opens them."""
    return TenantVaults(vaults.key_store, vaults._open_keyring)


def test_one_keyring_serves_all_where_there_is_one(vaults: TenantVaults) -> None:
    one = row_keyrings(Patient.__table__, vaults.vault("acme"))
    assert isinstance(one, OneKeyring)
    assert one.is_one
    assert one.field("ssn", b"", None) is vaults.vault("acme").field(one.fields["ssn"].definition)
    several = row_keyrings(Account.__table__, vaults)
    assert isinstance(several, TenantKeyrings)
    assert several.tenant_columns == {"iban": "tenant_id", "note": "tenant_id"}


def test_the_goal_changes_with_every_rotation(vaults: TenantVaults) -> None:
    several = row_keyrings(Account.__table__, vaults)
    before = keys_goal(several.states())
    assert keys_goal(several.states()) == before
    vaults.vault("umbrella").keyring.lifecycle.rotate(Purpose.DATA)
    assert keys_goal(several.states()) != before
