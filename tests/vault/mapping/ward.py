"""The tables that the tests of every kind of index write to and ask."""

from datetime import date

from sqlalchemy import Date, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from vault.mapping import CompoundIndex, Sealed
from vault.normalise import casefold, exact
from vault.normalisers.email_address import email, email_domain
from vault.normalisers.parts import last_four, month, year
from vault.terms.term import BlindIndex


class Base(DeclarativeBase):
    pass


class Patient(Base):
    __tablename__ = "ward_patient"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ward: Mapped[int | None] = mapped_column(Integer)
    code: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(bits=8)))
    card: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(last_four, name="last4")))
    email: Mapped[str | None] = mapped_column(
        Sealed(Text, index=[BlindIndex(email_domain, name="at"), BlindIndex(email), BlindIndex(exact, name="spelled")])
    )
    name: Mapped[str | None] = mapped_column(Sealed(String(40), index=BlindIndex(scope="who")))
    born: Mapped[date | None] = mapped_column(
        Sealed(Date, index=[BlindIndex(year, name="y"), BlindIndex(month, name="m")])
    )
    __table_args__ = (
        CompoundIndex("whole", ("name", casefold), "born", unique=True),
        CompoundIndex("rough", ("name", casefold), ("born", year), bits=16),
    )


class Doctor(Base):
    __tablename__ = "ward_doctor"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    who: Mapped[str | None] = mapped_column(
        Sealed(Text, index=[BlindIndex(bits=20, name="b"), BlindIndex(scope="who")])
    )
    pair: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(bits=4), bind="number"))
    number: Mapped[int | None] = mapped_column(Integer)
