"""An index of one tenant moves in a table that has rows of others, which neither notice nor are touched."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from kms import Keyring
from kms.key_record import Purpose
from tests.vault.jobs.indexed_people import SSN, People, Process, definition_in, person_table
from vault.changeover.phase import Phase
from vault.changeover.store import ChangeoverStore
from vault.errors import SealedColumnError
from vault.index.change import begin_field_changes
from vault.jobs.reindexing.index_members import members_of, recorded_parts
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.mapping import Sealed
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

TABLE = person_table(BlindIndex())


@pytest.fixture
def people(database_url: str, tmp_path: Path) -> Iterator[People]:
    people = People.made(database_url, tmp_path, TABLE)
    people.lease = 0.5
    store = people.store()
    for name in ("acme", "globex"):
        Keyring.create(store, people.provider(), name, refresh=False).close()
    store.engine.dispose()
    yield people
    people.close()


def steps_of(people: People, tenant: str) -> IndexSteps:
    vault, steps = people.vault(tenant), people.steps(TABLE)
    steps.changeovers = ChangeoverStore(vault.key_store, vault.keyring.id, timedelta(seconds=people.lease))
    steps.members = members_of(SSN, [TABLE], vault, shared=True)
    steps.parts, steps.refresh = recorded_parts(vault, SSN), vault.keyring.beside.end
    return steps


def stored(process: Process) -> dict[int, tuple[Any, Any]]:
    with process.engine.connect() as connection:
        return {row.id: (row.ssn_bidx_a, row.ssn_bidx_b) for row in connection.execute(select(process.raw))}


def until(steps: IndexSteps, phase: Phase | None) -> None:
    deadline = time.monotonic() + 40
    while True:
        now = steps.forward().changeover
        if now is None or now.phase is phase:
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_one_tenant_moves_and_the_other_stays(people: People) -> None:
    acme, globex = people.process(TABLE, "acme"), people.process(TABLE, "globex")
    for key in range(0, 20, 2):
        acme.insert(key, f"ssn {key}")
        globex.insert(key + 1, f"ssn {key}")
    acme.insert(50, None)
    late_plan = acme.field.plan()
    before = stored(globex)
    new = people.vault("acme").keyring.lifecycle.rotate(Purpose.INDEX).key_id
    steps = steps_of(people, "acme")
    begin_field_changes(steps.changeovers, people.vault("acme").keyring, definition_in(TABLE), who="ann")
    until(steps, Phase.DUAL_ASK_NEW)
    globex.insert(101, "after the guard")
    assert globex.find("after the guard") == [101]
    if steps.changeovers.find(SSN) is not None:
        late = {name: term for name, term in acme.field.terms("x", late_plan).items() if name in late_plan.written}
        with pytest.raises(DBAPIError, match="without its term"), people.engine.begin() as connection:
            connection.execute(insert(acme.raw).values(id=102, ssn=acme.field.seal("x"), **late))
    until(steps_of(people, "acme"), None)
    acme.field.keyring.beside.end()
    now = stored(globex)
    for key in range(0, 20, 2):
        assert now[key + 1] == before[key + 1]
        assert now[key][0] is None
        assert now[key][1][1:5] == new
        assert acme.find(f"ssn {key}") == [key]
        assert globex.find(f"ssn {key}") == [key + 1]
    columns = [one["column_names"] for one in inspect(people.engine).get_indexes("person")]
    assert ["ssn_bidx_a"] in columns, "the other tenant has its terms there"
    assert ["ssn_bidx_b"] in columns


def test_a_table_of_tenants_is_not_taken_for_one_keyrings(people: People) -> None:
    sealed: Sealed[Any] = Sealed(String(40), index=BlindIndex(), tenant="city")
    table = Table(
        "person", MetaData(), Column("id", Integer, primary_key=True), Column("city", String(20)), Column("ssn", sealed)
    )
    with pytest.raises(SealedColumnError, match="named by --tenant"):
        members_of(SSN, [table], people.vault())
    (member,) = members_of(SSN, [table], people.vault("acme"), shared=True)
    guard = member.guard("b")
    assert guard.owner == people.vault("acme").keyring.id.hex()
    assert len(guard.keys) == 1
    assert guard.name != replace(guard, owner="").name
