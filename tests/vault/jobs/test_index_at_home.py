"""An index that lives in a keyring of its own moves for the rows of all tenants at once, its phase kept there."""

import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import create_engine, insert, select

from kms import Keyring, LeaseSettings, open_provider
from kms.key_record import Purpose
from tests.vault.tenancy import LOOKUP, TENANTS, Member, new_tenants
from vault.changeover.phase import Subject
from vault.changeover.store import ChangeoverStore
from vault.index.change import begin_field_changes
from vault.index.home import at_home
from vault.jobs.engine import Job
from vault.jobs.reindexing.index_members import members_at_home, recorded_parts
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.mapping.definitions import definition_of
from vault.rows.raw_table import raw_table
from vault.tenants import TenantVaults

LEASE = 0.4
ALL = Subject("member", "phone", "all")
TABLE = Member.__table__


def opened_again(folder: Path, first: TenantVaults) -> TenantVaults:
    provider, leases = open_provider(f"local:{folder / 'kek'}"), LeaseSettings(sealing=LEASE)
    return TenantVaults(first.key_store, lambda name: Keyring.open(first.key_store, provider, name, leases=leases))


def test_the_rows_of_all_tenants_move(database_url: str, tmp_path: Path) -> None:
    engine = create_engine(database_url)
    TABLE.metadata.create_all(engine, [TABLE])  # type: ignore[list-item]
    vaults = opened_again(tmp_path, new_tenants(tmp_path))
    definition, raw = definition_of(Member.phone), raw_table(TABLE)  # type: ignore[arg-type]
    fields = {name: vaults.vault(name).field(definition) for name in TENANTS}
    with engine.begin() as connection:
        for key, (name, field) in enumerate(fields.items()):
            plan = field.plan()
            terms = {n: t for n, t in field.terms("01 23", plan).items() if n in plan.written}
            row = {"id": key, "tenant_id": name, "phone": field.seal("01 23"), **terms}
            connection.execute(insert(raw).values(row))
    home = vaults.home(LOOKUP)
    new = home.keyring.lifecycle.rotate(Purpose.INDEX).key_id
    changeovers = ChangeoverStore(vaults.key_store, home.keyring.id, timedelta(seconds=LEASE))
    begin_field_changes(changeovers, home.keyring, at_home(definition, LOOKUP), who="ann", home=LOOKUP)
    steps = IndexSteps(
        changeovers,
        ALL,
        members_at_home(ALL, [TABLE], vaults, LOOKUP),  # type: ignore[list-item]
        recorded_parts(home, ALL),
        engine,
        lambda work: Job(work, engine).run(),
        home.keyring.beside.end,
        "ann",
    )
    deadline = time.monotonic() + 60
    while not (standing := steps.forward()).is_done:
        assert standing.ready_at is not None, standing.reason
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with engine.connect() as connection:
        rows = connection.execute(select(raw.c.phone_all_a, raw.c.phone_all_b, raw.c.phone_bidx_a)).all()
    assert {row.phone_all_a for row in rows} == {None}
    (term,) = {row.phone_all_b for row in rows}
    assert term[1:5] == new
    assert len({row.phone_bidx_a for row in rows}) == len(TENANTS), "their own indexes stay"
    for field in fields.values():
        assert field.asked_term("all", "0123") == term
        assert field.plan().indexes["bidx"].asked == "a"
    vaults.close()
    engine.dispose()
