"""Phases for the clinic's tables: all of their indexes change over at once, from one slot to the other and back."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Index, create_engine, inspect, make_url, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from kms.key_database import reading, writing
from kms.key_record import Purpose
from tests.flows.clinics import DRIVERS, EACH_DRIVER, Clinic, open_clinic, server_of
from tests.servers import mariadb, postgres
from tests.vault.mapping.clinic import Base
from tests.vault.mapping.conftest import new_vault
from tests.vault.phases import set_phase
from vault import attach
from vault.changeover.phase import Phase, Subject
from vault.changeover.tables import changeover_table
from vault.definitions.definition_tables import index_slot_table
from vault.mapping.definitions import all_term_columns
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

# Where processes are that understand each other: what the first writes, the second finds.
NEIGHBOURS = [(one, other) for one in Phase for other in Phase if abs(one - other) <= 1]


def changing_vault(directory: Path) -> OpenedVault:
    """The clinic's fields are registered, and a newer index key is there that their next slots are pinned to."""
    opened = new_vault(directory)
    engine = create_engine("sqlite://")
    attach(engine, opened, Base.metadata)
    opened.keyring.lifecycle.rotate(Purpose.INDEX)
    for subject in subjects(opened):
        set_phase(opened.key_store, opened.keyring, subject, Phase.OLD)
    return opened


def subjects(opened: OpenedVault) -> list[Subject]:
    """Every index that is recorded."""
    slot = index_slot_table.c
    statement = select(slot.table_name, slot.column_name, slot.index_name).distinct()
    with reading(opened.key_store.engine) as connection:
        return [Subject(*row) for row in connection.execute(statement)]


def turn(opened: OpenedVault, phase: Phase, old: str = "a") -> None:
    """Put every index that is changing over into a phase, at once."""
    turn_unheard(opened, phase, old)
    opened.keyring.beside.end()


def turn_unheard(opened: OpenedVault, phase: Phase, old: str = "a") -> None:
    """The same in the key store alone: who has read it keeps to what he read for a lease."""
    change = changeover_table
    its = {"phase": int(phase), "came_from": int(phase), "old_place": old, "new_place": "b" if old == "a" else "a"}
    with writing(opened.key_store.engine) as connection:
        connection.execute(update(change).where(change.c.keyring_id == opened.keyring.id).values(its))


def index_the_other_slots(connection: Connection) -> None:
    """What a changeover does when it begins: slot b gets the database's index that slot a has."""
    for table in Base.metadata.sorted_tables:
        stored = raw_table(table)
        indexed = {tuple(one["column_names"]): one for one in inspect(connection).get_indexes(table.name)}
        for term in all_term_columns(table):
            if not term.name.endswith("_a"):
                continue
            other = stored.c[f"{term.name[:-2]}_b"]
            unique = bool(indexed[term.name,]["unique"])
            Index(f"ix_{table.name}_{other.name}", other, unique=unique).create(connection)


Fresh = Callable[[], AbstractContextManager[str]]


@contextmanager
def changing_clinic(driver: str, fresh: Fresh, opened: OpenedVault, runner: asyncio.Runner) -> Iterator[Clinic]:
    with fresh() as written:
        url = make_url(written).set(drivername=DRIVERS[driver][1])
        with open_clinic(driver, url, opened, runner) as clinic:
            if isinstance(clinic.engine, AsyncEngine):
                engine = clinic.engine

                async def index() -> None:
                    async with engine.begin() as connection:
                        await connection.run_sync(index_the_other_slots)

                runner.run(index())
            else:
                with clinic.engine.begin() as connection:
                    index_the_other_slots(connection)
            clinic.spy.sent.clear()
            yield clinic


@pytest.fixture(scope="module", params=EACH_DRIVER)
def changing(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clinic]:
    """A clinic whose indexes can be put into a phase, with a vault of its own, behind each driver."""
    server = server_of(request.param, request.node)

    @contextmanager
    def fresh() -> Iterator[str]:
        if server == "sqlite":
            yield f"sqlite:///{tmp_path_factory.mktemp('changing') / 'clinic.db'}"
        else:
            module = postgres if server == "postgres" else mariadb
            with module.fresh_database(request.getfixturevalue(f"{server}_server_url")) as url:
                yield url

    opened = changing_vault(tmp_path_factory.mktemp("changing-keys"))
    with changing_clinic(request.param, fresh, opened, runner) as clinic:
        yield clinic
    assert not clinic.spy.saw_plaintext()
    opened.close()
