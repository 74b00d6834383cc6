"""Vaults of tenants, and the tables that tests use them with."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from kms import Keyring, KeyStore, open_provider
from kms.providers.local import create_key_file
from vault import BlindIndex, CompoundIndex, Sealed, TenantVaults, casefold, digits, last_four

TENANTS = ("acme", "globex", "umbrella")
LOOKUP = "lookup"


class Base(DeclarativeBase):
    pass


class Patient(Base):
    """By the tenant in force."""

    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    city: Mapped[str | None] = mapped_column(String(40))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex()))
    note: Mapped[str | None] = mapped_column(Sealed(Text))


class Client(Base):
    """Of like shape, with other keys and another normaliser."""

    __tablename__ = "client"
    id: Mapped[int] = mapped_column(primary_key=True)
    city: Mapped[str | None] = mapped_column(String(40))
    ssn: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(digits)))
    note: Mapped[str | None] = mapped_column(Sealed(Text))


class Account(Base):
    """By the tenant that the row names; one field is bound to its row as well."""

    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str | None] = mapped_column(String(40))
    iban: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), tenant="tenant_id", bind="id"))
    note: Mapped[str | None] = mapped_column(Sealed(Text, tenant="tenant_id"))


class Member(Base):
    """Found over all tenants, through an index that lives in a keyring of its own."""

    __tablename__ = "member"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(40))
    email: Mapped[str | None] = mapped_column(
        Sealed(Text, index=BlindIndex(casefold, keyring=LOOKUP), tenant="tenant_id", unique=True)
    )
    phone: Mapped[str | None] = mapped_column(
        Sealed(Text, index=(BlindIndex(), BlindIndex(digits, name="all", keyring=LOOKUP)), tenant="tenant_id")
    )


class Passport(Base):
    """By the tenant that the row names: an index over two columns, one that columns share, two of all tenants."""

    __tablename__ = "passport"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str | None] = mapped_column(String(40))
    holder: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(scope="holder"), tenant="tenant_id"))
    number: Mapped[str | None] = mapped_column(
        Sealed(
            Text,
            index=(BlindIndex(bits=4, name="rough", keyring=LOOKUP), BlindIndex(last_four, name="end", keyring=LOOKUP)),
            tenant="tenant_id",
        )
    )
    __table_args__ = (CompoundIndex("passport_whole", ("holder", casefold), "number", unique=True),)


class Visa(Base):
    """By the tenant in force."""

    __tablename__ = "visa"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    holder: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(scope="holder")))
    number: Mapped[str | None] = mapped_column(Sealed(Text))
    __table_args__ = (CompoundIndex("visa_whole", "holder", "number", bits=16),)


def new_tenants(directory: Path, names: Sequence[str] = TENANTS, most_open: int = 100) -> TenantVaults:
    create_key_file(directory / "kek")
    store = KeyStore.from_url(f"sqlite:///{directory / 'keys.db'}")
    store.create_schema()
    provider = open_provider(f"local:{directory / 'kek'}")
    for name in (*names, LOOKUP):
        Keyring.create(store, provider, name, refresh=False).close()
    return TenantVaults(store, lambda name: Keyring.open(store, provider, name), most_open)
