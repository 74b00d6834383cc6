"""A sealed attribute keeps what it was given: a change in place is written, or is an error."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import JSON, Engine, LargeBinary, String, select, update
from sqlalchemy import Enum as SqlEnum
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from vault import BlindIndex, Sealed

pytestmark = pytest.mark.databases_in_turn


class Base(DeclarativeBase):
    pass


class Chart(Base):
    __tablename__ = "chart"
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str | None] = mapped_column(String(20))
    data: Mapped[dict[str, Any] | None] = mapped_column(
        Sealed(JSON, index=BlindIndex()), default=lambda: {"plain§": []}
    )
    scan: Mapped[bytes | None] = mapped_column(Sealed(LargeBinary))
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "chart"}  # noqa: RUF012


class OldChart(Chart):
    __mapper_args__ = {"polymorphic_identity": "old"}  # noqa: RUF012


@pytest.fixture
def charts(clinic: Engine) -> Iterator[Session]:
    Base.metadata.create_all(clinic)
    with Session(clinic, expire_on_commit=False) as session:
        yield session
    Base.metadata.drop_all(clinic)


def stored(session: Session) -> Any:
    with Session(session.get_bind()) as other:
        return other.scalars(select(Chart.data)).one()


@pytest.mark.parametrize("kind", [Chart, OldChart])
@pytest.mark.parametrize("when", ["pending", "flushed", "committed", "refreshed", "loaded", "returned"])
def test_k05_05_a_change_in_place_raises_whatever_state_the_object_is_in(
    charts: Session, kind: type[Chart], when: str
) -> None:
    chart = kind(data={"a": [1], "text": "plain§"})
    charts.add(chart)
    if when != "pending":
        charts.flush()
    if when in ("committed", "refreshed", "loaded"):
        charts.commit()
    if when == "refreshed":
        charts.refresh(chart)
    if when == "loaded":
        charts.expunge_all()
        chart = charts.scalars(select(kind)).one()
    if when == "returned":
        chart = charts.scalars(select(kind), execution_options={"populate_existing": True}).one()
    assert chart.data is not None
    with pytest.raises(TypeError, match="does not change in place"):
        chart.data["a"].append(2)
    with pytest.raises(TypeError, match="does not change in place"):
        chart.data["b"] = 2
    charts.commit()
    assert stored(charts) == {"a": [1], "text": "plain§"}
    changed = copy.deepcopy(chart.data)
    changed["a"].append(2)
    chart.data = changed
    charts.commit()
    assert stored(charts) == {"a": [1, 2], "text": "plain§"}
    assert charts.scalars(select(Chart.id).where(Chart.data == {"text": "plain§", "a": [1, 2.0]})).all() == [chart.id]


def test_k05_05_what_was_assigned_is_not_tied_to_the_variable_it_came_from(charts: Session) -> None:
    mine: dict[str, Any] = {"plain§": [1]}
    chart = Chart(data=mine)
    charts.add(chart)
    charts.flush()
    mine["plain§"].append(2)
    charts.commit()
    assert chart.data == stored(charts) == {"plain§": [1]}


def test_defaults_and_merged_values_are_kept_so_too(charts: Session) -> None:
    chart = Chart()
    charts.add(chart)
    charts.commit()
    assert chart.data == {"plain§": []}
    with pytest.raises(TypeError):
        chart.data["plain§"].append(1)
    merged = charts.merge(Chart(id=chart.id, data={"plain§": [7]}))
    assert merged.data is not None
    with pytest.raises(TypeError):
        merged.data["plain§"].append(1)
    charts.commit()
    assert stored(charts) == {"plain§": [7]}


def test_k02_05_the_three_kinds_of_bytes_are_kept_as_bytes(charts: Session) -> None:
    mine = bytearray(b"plain\xc2\xa7")
    charts.add_all([Chart(id=n, scan=scan) for n, scan in enumerate((bytes(mine), mine, memoryview(bytes(mine))), 1)])
    charts.flush()
    mine.extend(b" changed")
    charts.commit()
    loaded = charts.scalars(select(Chart.scan)).all()
    assert loaded == [b"plain\xc2\xa7"] * 3
    assert {type(scan) for scan in loaded} == {bytes}
    assert {type(chart.scan) for chart in charts.scalars(select(Chart))} == {bytes}


def test_sqlalchemy_is_told_that_json_has_no_hash_as_of_its_own_type(charts: Session) -> None:
    charts.add(Chart(data={"plain§": 1}))
    charts.flush()
    with pytest.raises(InvalidRequestError, match="non-hashable") as raised:
        charts.execute(select(Chart.id, Chart.data)).unique().all()
    assert "§" not in str(raised.value)


UPDATES: dict[str, Any] = {
    "by condition": lambda value: (update(Chart).where(Chart.id == 1).values(data=value), None),
    "evaluated": lambda value: (
        update(Chart).where(Chart.id == 1).values(data=value).execution_options(synchronize_session="evaluate"),
        None,
    ),
    "by primary key": lambda value: (update(Chart), [{"id": 1, "data": value}]),
}


@pytest.mark.parametrize("way", UPDATES)
def test_k05_05_what_an_update_statement_sets_in_objects_does_not_change_in_place(charts: Session, way: str) -> None:
    chart = Chart(id=1, data={"plain§": []})
    charts.add(chart)
    charts.commit()
    mine: dict[str, Any] = {"plain§": [1]}
    statement, rows = UPDATES[way](mine)
    charts.execute(statement, rows)
    assert chart.data == {"plain§": [1]}
    with pytest.raises(TypeError, match="does not change in place"):
        chart.data["plain§"].append(2)
    mine["plain§"].append(2)
    charts.commit()
    assert chart.data == stored(charts) == {"plain§": [1]}


class Folder(Base):
    """Row-bound."""

    __tablename__ = "folder"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data: Mapped[Any] = mapped_column(Sealed(JSON, bind="id"))
    state: Mapped[Any] = mapped_column(Sealed(SqlEnum("plain§open", "plain§shut"), bind="id"))


def test_k05_05_a_row_bound_value_is_frozen_too(charts: Session) -> None:
    charts.add(Folder(id=7, data={"plain§": [1]}, state="plain§shut"))
    charts.commit()
    charts.expunge_all()
    folder = charts.get_one(Folder, 7)
    assert (folder.data, folder.state) == ({"plain§": [1]}, "plain§shut")
    with pytest.raises(TypeError, match="does not change in place"):
        folder.data["plain§"].append(2)
    folder.data = {**folder.data, "other": "plain§"}
    charts.commit()
    charts.expunge_all()
    assert charts.get_one(Folder, 7).data == {"plain§": [1], "other": "plain§"}
