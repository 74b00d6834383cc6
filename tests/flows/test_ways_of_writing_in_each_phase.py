"""While indexes change over, every way of writing fills the slots that its phase writes, and leaves nothing stale."""

from functools import partial
from typing import Any

import pytest
from sqlalchemy import make_url, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from tests.flows.clinics import DRIVERS, EACH_DRIVER, Clinic
from tests.flows.phases import changing, turn
from tests.flows.test_ways_of_writing import NEW, OLD, OTHER, TOGETHER, Way, _added
from tests.pairwise import covering
from tests.sizes import sized
from tests.vault.mapping.clinic import Base, Person
from vault.changeover.phase import Phase
from vault.mapping import definition_of, sealed_columns
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table

__all__ = ["changing"]


def _fill(session: Session) -> None:
    _added(session, Person(id=1, ssn=OLD, email="plain§ann@x", age=9173), Person(id=2, ssn=OTHER))


def _terms_are_those_of_the_values(opened: OpenedVault, untouched: set[int], session: Session) -> None:
    """Of rows written by now, each slot holds what the plan writes, and NULL where it writes nothing."""
    for table in Base.metadata.sorted_tables:
        rows = session.execute(select(raw_table(table))).mappings().all()
        for column in sealed_columns(table):
            its = opened.field(definition_of(column))
            for row in rows:
                if table.name == "person" and row["id"] in untouched:
                    continue
                terms = its.terms(its.open(row[column.name], {name: row[name] for name in its.bound_names} or None))
                found = {name: None if row[name] is None else bytes(row[name]) for name in terms}
                assert found == terms, f"{table.name}.{column.name}"


def _found(session: Session, value: str) -> list[int]:
    return sorted(session.scalars(select(Person.id).where(Person.ssn == value)))


def _write(clinic: Clinic, way: Way) -> None:
    def write(session: Session) -> None:
        way.write(session)

    if way.awaited is None:
        clinic.run(write, **way.options)
    else:
        clinic.wait(way.awaited, **way.options)


def _email_stays_unique(session: Session) -> None:
    assert len(session.scalars(select(Person.id).where(Person.email == "plain§ANN@x")).all()) == 1


# Of the ways that set none of person 1's indexed columns.
ADDS = {name for name, way in TOGETHER.items() if way.after.get(1) == OLD}


# At the suite's size a phase that fills one slot comes on rows in which both are filled: one of them must not go stale.
STALE = {Phase.OLD: Phase.DUAL_ASK_OLD, Phase.NEW: Phase.DUAL_ASK_NEW}


def _there(driver: str, name: str) -> bool:
    way, dialect = TOGETHER[name], DRIVERS[driver][1]
    is_async = make_url(f"{dialect}://").get_dialect().is_async
    return dialect.partition("+")[0] not in way.not_on and (way.awaited is None or is_async)


def _possible(driver: str, now: Phase, _old: str, before: Phase, name: str) -> bool:
    near = abs(before - now) <= 1 if sized(0, 1) or now not in STALE else before is STALE[now]
    return near and _there(driver, name)


# With each driver and change: in which phase the rows were written, and the way. Each two of these meet.
CHOSEN: dict[tuple[str, Phase, str], list[tuple[Phase, str]]] = {}
for _driver, *_change, _before, _name in covering(DRIVERS, Phase, "ab", Phase, TOGETHER, possible=_possible):
    CHOSEN.setdefault((_driver, *_change), []).append((_before, _name))
CHANGES = [
    pytest.param(driver.values[0], now, old, marks=driver.marks, id=f"{driver.id}-{now.name}-{old}")
    for driver in EACH_DRIVER
    for now in Phase
    for old in "ab"
    if (driver.values[0], now, old) in CHOSEN
]


@pytest.mark.parametrize(("changing", "now", "old"), CHANGES, indirect=["changing"])
def test_each_way_of_writing_writes_as_its_phase_says(changing: Clinic, now: Phase, old: str) -> None:
    """The rows were written by a process one phase apart, and are found by one that is so too."""
    for before, name in CHOSEN[changing.driver, now, old]:
        try:
            _writes_as_its_phase_says(changing, name, before, now, old)
        except (AssertionError, SQLAlchemyError) as error:
            raise AssertionError(f"{name} on what {before!r} wrote: {error}") from error
        finally:
            changing.empty()


def test_each_way_is_tried_with_each_driver_and_in_each_phase() -> None:
    tried = [(*change, *other) for change, others in CHOSEN.items() for other in others]
    for name, way in TOGETHER.items():
        drivers = {driver for driver in DRIVERS if _there(driver, name)}
        assert len(drivers) >= (2 if way.awaited else 1)
        assert {driver for driver, *_, one in tried if one == name} == drivers
        steps = {(now, before) for _, now, _, before, one in tried if one == name}
        assert steps >= set(STALE.items())
        assert [{step[at] for step in steps} for at in (0, 1)] == [set(Phase)] * 2


def _writes_as_its_phase_says(clinic: Clinic, name: str, before: Phase, now: Phase, old: str) -> None:
    way = TOGETHER[name]
    turn(clinic.opened, before, old)
    clinic.run(_fill)
    turn(clinic.opened, now, old)
    _write(clinic, way)
    untouched = {2} | ({1} if name in ADDS else set())
    others = {1} if before is not now else set()  # their e-mail address and age were not written again
    clinic.run(partial(_of_the_column, clinic.opened, untouched))
    clinic.run(partial(_terms_are_those_of_the_values, clinic.opened, untouched | others))
    for reading in Phase:
        if abs(reading - now) <= 1 and abs(reading - before) <= 1:
            turn(clinic.opened, reading, old)
            clinic.run(partial(_are_found, reading=reading, expected=way.after | {2: OTHER}))


def _are_found(session: Session, reading: Phase, expected: dict[int, str | None]) -> None:
    for value in (OLD, NEW, OTHER, "plain§8"):
        assert _found(session, value) == sorted(person for person, has in expected.items() if has == value), reading
    _email_stays_unique(session)


def _of_the_column(opened: OpenedVault, untouched: set[int], session: Session) -> None:
    """The column that the ways set: nothing stale beside it."""
    its = opened.field(definition_of(Person.__table__.c.ssn))
    rows: Any = session.execute(select(raw_table(Person.__table__))).mappings().all()
    for row in rows:
        if row["id"] not in untouched:
            terms = its.terms(its.open(row["ssn"]))
            assert {name: None if row[name] is None else bytes(row[name]) for name in terms} == terms
