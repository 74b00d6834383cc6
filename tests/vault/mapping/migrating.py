"""Tables of which fields are migrating, and modes that a test sets."""

import enum
import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    DateTime,
    Engine,
    Enum,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    String,
    Text,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from tests.vault.mapping.driver_spy import DriverSpy
from vault.definitions.definition import FieldDefinition
from vault.mapping import Sealed, definition_of
from vault.modes.mode import Mode
from vault.normalise import digits
from vault.normalisers.parts import last_four
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex


class Base(DeclarativeBase):
    pass


class Ward(enum.Enum):
    EAST = "east"
    WEST = "west"


class Patient(Base):
    """An application's class, of which two columns are being sealed, the second with what it had in the database."""

    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(String(40))
    ssn: Mapped[str | None] = mapped_column(
        "ssn_sealed",
        Sealed(
            String(30), index=BlindIndex(), unique=True, migrating=Column("ssn", String(30), index=True, unique=True)
        ),
    )
    phone: Mapped[str | None] = mapped_column(
        "phone_sealed",
        Sealed(String(30), index=[BlindIndex(digits), BlindIndex(last_four, name="last4")], migrating="phone"),
    )
    stays: Mapped[list["Stay"]] = relationship(back_populates="patient", order_by="Stay.id")
    __table_args__ = (CheckConstraint("length(ssn) < 100", name="short"), Index("ix_patient_both", "name", "ssn"))


class Stay(Base):
    """Row-bound, and a field that may not be NULL."""

    __tablename__ = "stay"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    patient_id: Mapped[int | None] = mapped_column(ForeignKey("patient.id"))
    reason: Mapped[str] = mapped_column("reason_sealed", Sealed(Text, bind="id", migrating="reason"))
    patient: Mapped[Patient | None] = relationship(back_populates="stays")


class Kinds(Base):
    """Each kind of value, with an index where that is of use."""

    __tablename__ = "kinds"
    id: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int | None] = mapped_column("count_sealed", Sealed(Integer, index=BlindIndex(), migrating="count"))
    price: Mapped[Any] = mapped_column(
        "price_sealed", Sealed(Numeric(12, 2), index=BlindIndex(), migrating="price"), nullable=True
    )
    at: Mapped[Any] = mapped_column("at_sealed", Sealed(DateTime, index=BlindIndex(), migrating="at"), nullable=True)
    ward: Mapped[Ward | None] = mapped_column(
        "ward_sealed", Sealed(Enum(Ward), index=BlindIndex(low_entropy=True), migrating="ward")
    )
    chart: Mapped[Any] = mapped_column(
        "chart_sealed", Sealed(JSON, migrating=Column("chart", JSON(none_as_null=True))), nullable=True
    )


class SetModes:
    """Modes as a test sets them: all fields are in one. lease_runs: whether that of the mode before goes on."""

    def __init__(self, mode: Mode = Mode.PLAINTEXT) -> None:
        self.now = self.before = mode
        self.changes = 0
        self.lease_runs = True

    def set(self, mode: Mode) -> None:
        self.before, self.now = self.now, mode
        self.changes += 1

    def mode(self, definition: FieldDefinition) -> Mode:
        return self.now

    def may_run(self, definition: FieldDefinition, mode: Mode) -> bool:
        return mode is self.now or (mode is self.before and self.lease_runs)


@dataclass(frozen=True)
class Migration:
    """A database with these tables, its modes, what reached the driver, and the vault that serves it."""

    engine: Engine
    modes: SetModes
    spy: DriverSpy
    vault: OpenedVault

    def stored(self, table: type[Base], *names: str) -> list[tuple[Any, ...]]:
        """What the database itself holds, in the order of the keys."""
        raw = raw_table(table.__table__)
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(select(*(raw.c[n] for n in names)).order_by(raw.c.id))]

    def stored_patients(self) -> list[tuple[Any, ...]]:
        """Of each patient: id, plaintext, opened sealed value, and whether the term is that of this value."""
        field = self.vault.field(definition_of(Patient.ssn))
        found = []
        for key, plain, sealed, term, other in self.stored(
            Patient, "id", "ssn", "ssn_sealed", "ssn_sealed_bidx_a", "ssn_sealed_bidx_b"
        ):
            value = field.open(sealed)
            assert other is None
            assert term == field.asked_term("bidx", value) if value is not None else term is None
            found.append((key, plain, value))
        return found


def expected(mode: Mode, key: int, value: str | None) -> tuple[Any, ...]:
    """A patient as stored_patients() gives it, who was written in the mode."""
    return key, value if mode.writes_plaintext else None, value if mode.writes_sealed else None
