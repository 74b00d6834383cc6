"""The tables that the tests of the mapping write to and ask."""

import uuid

from sqlalchemy import BigInteger, Float, ForeignKey, Integer, LargeBinary, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from vault.mapping import CompoundIndex, Sealed
from vault.normalise import casefold, trimmed
from vault.terms.term import BlindIndex


class Base(DeclarativeBase):
    pass


class Person(Base):
    """Fields that are not row-bound, with and without indexes."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(String(40))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex()))
    email: Mapped[str | None] = mapped_column(Sealed(String(60), index=BlindIndex(casefold), unique=True))
    note: Mapped[str | None] = mapped_column(Sealed(Text))
    age: Mapped[int | None] = mapped_column(Sealed(Integer, index=BlindIndex()))
    scan: Mapped[bytes | None] = mapped_column(Sealed(LargeBinary, index=BlindIndex()))
    visits: Mapped[list["Visit"]] = relationship(back_populates="person", order_by="Visit.id")


class Visit(Base):
    __tablename__ = "visit"
    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    reason: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex()))
    person: Mapped[Person | None] = relationship(back_populates="visits")


class Employee(Base):
    """Of like shape with Person, with another index and another attribute name."""

    __tablename__ = "employee"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(String(40))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(trimmed)))
    plan: Mapped[str] = mapped_column("scheme", Sealed(Text, index=BlindIndex()))


class Income(Base):
    """Row-bound by a plain column, by a key made in Python, and by both."""

    __tablename__ = "income"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    person: Mapped[str | None] = mapped_column(String(20))
    amount: Mapped[float | None] = mapped_column(Sealed(Float, index=BlindIndex(), bind=("person",)))
    source: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), bind=("id",)))
    ours: Mapped[int | None] = mapped_column(Sealed(BigInteger, bind=("id", "person")))


class Staff(Employee):
    """A joined subclass, bound to the key that its parent's row was given."""

    __tablename__ = "staff"
    id: Mapped[int] = mapped_column(ForeignKey("employee.id"), primary_key=True)
    badge: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), bind="id"))


class Letter(Base):
    """Bound to a row of another table, which is often made in the same flush."""

    __tablename__ = "letter"
    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    body: Mapped[str | None] = mapped_column(Sealed(Text, bind="person_id"))
    person: Mapped[Person | None] = relationship()


class Account(Base):
    """Row-bound by a number and bytes; defaults are sealed too."""

    __tablename__ = "account"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tag: Mapped[bytes] = mapped_column(LargeBinary, default=b"tag")
    pin: Mapped[str] = mapped_column(Sealed(Text, bind=("number", "tag")), default="plain§0000")


class Ticket(Base):
    """Found by a holder that seats share, by a gate whose terms are shared by chance, and by both together."""

    __tablename__ = "ticket"
    id: Mapped[int] = mapped_column(primary_key=True)
    holder: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(scope="holder")))
    gate: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(bits=8)))
    __table_args__ = (CompoundIndex("ticket_whole", "holder", "gate"),)


class Seat(Base):
    __tablename__ = "seat"
    id: Mapped[int] = mapped_column(primary_key=True)
    holder: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(scope="holder")))
