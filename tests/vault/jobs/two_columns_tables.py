"""A table whose values move between two columns, with a vault and the databases to move them in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Date, Engine, Integer, String, Table, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from kms import LeaseSettings
from tests.vault.mapping.conftest import new_vault
from vault.attaching import attach
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.tally import Tally
from vault.mapping import Sealed, definition_of
from vault.normalise import casefold
from vault.normalisers.parts import last_four
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex


class Base(DeclarativeBase):
    pass


class Client(Base):
    __tablename__ = "client"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    mail: Mapped[str | None] = mapped_column(
        "mail_sealed",
        Sealed(
            String(12),
            index=[BlindIndex(casefold), BlindIndex(last_four, name="end")],
            migrating=Column("mail", String(40)),
        ),
    )
    born: Mapped[Any] = mapped_column("born_sealed", Sealed(Date, bind="id", migrating="born"), nullable=True)
    visits: Mapped[int | None] = mapped_column(Integer)


MAIL = Client.__table__.c.mail_sealed
RAW = raw_table(Client.__table__)
BORN = Client.__table__.c.born_sealed


@dataclass(frozen=True)
class Clients:
    engine: Engine
    opened: OpenedVault

    @property
    def table(self) -> Table:
        return RAW

    def plain(self, rows: Mapping[int, str | None]) -> None:
        """Rows as an application wrote them that knew nothing of sealing."""
        with self.engine.begin() as connection:
            connection.execute(
                text("INSERT INTO client (id, mail) VALUES (:id, :mail)"),
                [{"id": key, "mail": value} for key, value in rows.items()],
            )

    def run(self, work: Any, **settings: Any) -> Tally:
        return Job(work, self.engine, JobSettings(**settings)).run()

    def stored(self) -> dict[int, tuple[Any, Any, Any, Any]]:
        """By key: plaintext, opened sealed value, and both terms."""
        field = self.opened.field(definition_of(MAIL))
        t = self.table.c
        with self.engine.connect() as connection:
            rows = connection.execute(
                select(t.id, t.mail, t.mail_sealed, t.mail_sealed_bidx_a, t.mail_sealed_end_a).order_by(t.id)
            ).all()
        return {key: (mail, field.open(sealed), whole, end) for key, mail, sealed, whole, end in rows}

    def terms(self, value: str) -> tuple[Any, Any]:
        terms = self.opened.field(definition_of(MAIL)).terms(value)
        return terms["mail_sealed_bidx_a"], terms["mail_sealed_end_a"]


@contextmanager
def clients(url: str, keys: Path, lease: float = 180) -> Iterator[Clients]:
    opened = new_vault(keys, LeaseSettings(sealing=lease))
    engine = create_engine(url)
    attach(engine, opened, Base.metadata)
    Base.metadata.create_all(engine)
    yield Clients(engine, opened)
    engine.dispose()
    opened.close()
