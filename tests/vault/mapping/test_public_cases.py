"""Public cases of values and spellings, through the ORM and the drivers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from ctypes.util import find_library
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Date,
    DateTime,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Time,
    create_engine,
    insert,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from kms import Keyring, KeyStore, open_provider
from kms.providers.local import create_key_file
from tests.servers.not_run import PROPERTY, need_module
from tests.vault.mapping.clinic import Person
from vault import BlindIndex, Sealed, attach, casefold, email, find_all, open_vault, phone, via
from vault.errors import InvalidValueError

pytestmark = pytest.mark.databases_in_turn

ROOT = Path(__file__).parents[3]


class Base(DeclarativeBase):
    pass


class Times(Base):
    __tablename__ = "times"
    id: Mapped[int] = mapped_column(primary_key=True)
    seen: Mapped[datetime | None] = mapped_column(Sealed(DateTime(timezone=True)))
    noted: Mapped[datetime | None] = mapped_column(Sealed(DateTime))
    born: Mapped[date | None] = mapped_column(Sealed(Date, index=BlindIndex()))
    woke: Mapped[time | None] = mapped_column(Sealed(Time))


class Scan(Base):
    __tablename__ = "scan"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex()))
    image: Mapped[bytes | None] = mapped_column(Sealed(LargeBinary, index=BlindIndex()))


@pytest.fixture
def engine(clinic: Engine) -> Iterator[Engine]:
    Base.metadata.create_all(clinic)
    yield clinic
    Base.metadata.drop_all(clinic)


def test_k02_01_dates_and_times_come_back_in_a_new_session_as_they_were(engine: Engine) -> None:
    written = {
        "seen": datetime.fromisoformat("2031-03-30T02:30:00.000001+05:45"),
        "noted": datetime.fromisoformat("2031-01-01T00:00:00"),
        "born": date(1, 1, 1),
        "woke": time(23, 59, 59, 999_999),
    }
    with Session(engine) as session:
        session.add(Times(id=1, **written))
        session.commit()
    with Session(engine) as session:
        read = session.get_one(Times, 1)
        assert {name: getattr(read, name).isoformat() for name in written} == {
            name: value.isoformat() for name, value in written.items()
        }
        assert {name: type(getattr(read, name)) for name in written} == {n: type(v) for n, v in written.items()}
        assert read.noted is not None
        assert read.noted.tzinfo is None
        assert session.scalars(select(Times.id).where(Times.born == date(1, 1, 1))).all() == [1]


READ_ELSEWHERE = """
import json, sys
import psycopg
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session
from tests.vault.mapping.test_public_cases import Scan
from vault import attach, open_vault
url, keys, kek = sys.argv[1:]
engine = create_engine(url)
attach(engine, open_vault(keys, kek))
with Session(engine) as session:
    scans = session.scalars(select(Scan).order_by(Scan.id)).all()
    read = [(one.title, type(one.image).__name__, one.image.hex()) for one in scans]
    found = session.scalars(select(Scan.id).where(Scan.image == memoryview(b"\\0\\xff"))).all()
print(json.dumps([psycopg.pq.__impl__, read, list(found)]))
engine.dispose()
"""


@pytest.mark.postgres
@pytest.mark.parametrize("written_by", ["psycopg", "sqlite"])
def test_k02_05_every_driver_reads_and_bytes_are_bytes(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path, written_by: str
) -> None:
    if find_library("pq") is None:  # psycopg's pure Python needs the system's own
        request.node.user_properties.append((PROPERTY, "libpq is not on this machine; type: apt-get install libpq5"))
        pytest.skip("libpq is not on this machine")
    keys, kek = f"sqlite:///{tmp_path / 'keys.db'}", f"local:{tmp_path / 'kek'}"
    create_key_file(tmp_path / "kek")
    store = KeyStore.from_url(keys)
    store.create_schema()
    Keyring.create(store, open_provider(kek), "main")
    engine = create_engine(postgres_url if written_by == "psycopg" else f"sqlite:///{tmp_path / 'application.db'}")
    opened = open_vault(keys, kek)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    given: list[Any] = [b"\0\xff", bytearray(b"\0\xff"), memoryview(b"\0\xff")]
    with Session(engine) as session:
        session.add_all([Scan(id=n, title="zo\u00eb\0", image=image) for n, image in enumerate(given, 1)])
        session.commit()
    wanted = [["zo\u00eb\0", "bytes", "00ff"]] * 3
    for implementation in ("python", "binary"):
        ran = subprocess.run(
            [sys.executable, "-c", READ_ELSEWHERE, engine.url.render_as_string(hide_password=False), keys, kek],
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "PSYCOPG_IMPL": implementation},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert not ran.stderr
        assert json.loads(ran.stdout) == [implementation, wanted, [1, 2, 3]]
    for one in (engine, opened.key_store.engine, store.engine):
        one.dispose()


def test_k02_11_nul_in_a_sealed_text_is_kept_and_found(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Scan(id=1, title="ab\0cd"))
        session.commit()
        session.expunge_all()
        assert session.get_one(Scan, 1).title == "ab\0cd"
        assert session.scalars(select(Scan.id).where(Scan.title == "ab\0cd")).all() == [1]
        assert session.scalars(select(Scan.id).where(Scan.title == "ab")).all() == []


def test_k02_11_nul_in_a_plain_text_is_kept_or_a_clean_error_that_leaves_the_transaction_usable(engine: Engine) -> None:
    with engine.begin() as connection:
        write = insert(Person).values(id=1, name="ab\0cd", ssn="plain§")
        if engine.dialect.name in {"sqlite", "mysql", "mariadb"}:
            connection.execute(write)
            assert connection.scalar(select(Person.name)) == "ab\0cd"
            return
        with pytest.raises(DBAPIError, match="NUL") as refused:
            connection.execute(write)
        assert "ab" not in str(refused.value)
        connection.execute(insert(Person).values(id=2, name="abcd", ssn="plain§"))
        assert connection.scalars(select(Person.id)).all() == [2]


def test_k02_09_one_lone_surrogate_in_a_batch_names_its_row_before_anything_is_written(engine: Engine) -> None:
    rows = [{"id": n, "title": "plain§"} for n in range(100)]
    rows[57]["title"] = "\ud83d"
    with engine.begin() as connection:
        with pytest.raises(InvalidValueError, match=r"scan\.title, row 57 of the batch.*lone surrogate"):
            connection.execute(insert(Scan), rows)
        with pytest.raises(InvalidValueError, match=r"scan\.title: .*lone surrogate"):
            connection.execute(select(Scan.id).where(Scan.title == "\ud83d"))
        assert connection.scalar(text("SELECT count(*) FROM scan")) == 0


COMPOSED = "jos\u00e9.nu\u00f1ez@plain§.example"
DECOMPOSED = "jose\u0301.nun\u0303ez@plain§.example"


@pytest.mark.parametrize(("first", "then"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_k03_01_composed_and_decomposed_spellings_are_one_value(session: Session, first: str, then: str) -> None:
    assert first != then
    session.add(Person(id=1, email=first))
    session.commit()
    for asked in (first, then, then.upper()):
        assert session.scalars(select(Person.id).where(Person.email == asked)).all() == [1]
    session.add(Person(id=2, email=then))
    with pytest.raises(IntegrityError):
        session.flush()
    session.rollback()
    assert session.scalars(select(Person.email)).all() == [first]


ADDRESS = "Ana.Maria@Mail.EXAMPLE plain§"


class Contact(Base):
    __tablename__ = "contact"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(email)))
    street: Mapped[str | None] = mapped_column(Sealed(Text, index=[BlindIndex(casefold), BlindIndex(name="spelled")]))
    short: Mapped[str | None] = mapped_column(Sealed(String(64)))


def test_k03_03_an_address_is_found_in_any_case_whichever_way_it_was_written(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Contact(id=1, email=ADDRESS))
        session.flush()
        session.execute(insert(Contact), [{"id": 2, "email": ADDRESS}, {"id": 3, "email": f" {ADDRESS.upper()} "}])
        session.execute(insert(Contact).values([{"id": 4, "email": ADDRESS}, {"id": 5, "email": "other plain§"}]))
        session.connection().execute(Contact.__table__.insert(), {"id": 6, "email": ADDRESS.lower()})
        for asked in (ADDRESS, ADDRESS.lower(), f" {ADDRESS} "):
            found = session.scalars(select(Contact.id).where(Contact.email == asked)).all()
            assert sorted(found) == [1, 2, 3, 4, 6]
        session.expire_all()
        assert session.get_one(Contact, 1).email == ADDRESS
        assert session.get_one(Contact, 3).email == f" {ADDRESS.upper()} "


def test_k03_05_sharp_s_is_ss_where_case_does_not_count_and_four_values_where_it_does(engine: Engine) -> None:
    streets = [f"plain§{street}" for street in ("Stra\u00dfe", "STRASSE", "Strasse", "STRA\u1e9eE")]
    with Session(engine) as session:
        session.add_all([Contact(id=n, street=street) for n, street in enumerate(streets, 1)])
        session.flush()
        for n, street in enumerate(streets, 1):
            assert len(session.scalars(select(Contact.id).where(Contact.street == street)).all()) == 4
            assert [one.id for one in find_all(session, Contact, by={Contact.street: via("spelled", street)})] == [n]


def test_k03_08_spellings_of_a_phone_number_are_one_value(request: pytest.FixtureRequest, clinic: Engine) -> None:
    need_module(request.node, "phonenumbers")
    table = Table(
        "phones",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("number", Sealed(Text, index=BlindIndex(phone("GB")), table="phones")),
    )
    table.create(clinic)
    spellings = ["+44 20 7946 0018", "020 7946 0018", "(020) 7946-0018", "1234"]
    try:
        with clinic.begin() as connection:
            connection.execute(insert(table), [{"id": n, "number": number} for n, number in enumerate(spellings)])
            for n, number in enumerate(spellings):
                found = connection.scalars(select(table.c.id).where(table.c.number == number)).all()
                assert sorted(found) == ([0, 1, 2] if n < 3 else [3])
            assert connection.scalars(select(table.c.number).order_by(table.c.id)).all() == spellings
    finally:
        table.drop(clinic)


def test_k07_03_sixty_four_characters_of_four_bytes_are_kept_and_one_more_is_refused(engine: Engine) -> None:
    longest = "\U0001f512" * 64
    with Session(engine) as session:
        session.add(Contact(id=1, short=longest))
        session.commit()
        session.expire_all()
        assert session.get_one(Contact, 1).short == longest
        session.add(Contact(id=2, short=longest + "\U0001f512"))
        with pytest.raises(InvalidValueError, match=r"longer than String\(64\)"):
            session.flush()


def test_k08_05_an_altered_term_finds_no_wrong_row_and_the_value_still_opens(engine: Engine) -> None:
    term = Contact.__table__.c.email_bidx_a
    with Session(engine) as session:
        session.add_all([Contact(id=1, email="plain§one"), Contact(id=2, email="plain§two")])
        session.commit()
        stored = session.scalar(select(term).where(Contact.id == 1))
        assert stored is not None
        changed = bytes([*stored[:-1], stored[-1] ^ 1])
        mark = "?" if engine.dialect.paramstyle == "qmark" else "%s"
        statement = f"UPDATE contact SET email_bidx_a = {mark} WHERE id = 1"
        session.connection().exec_driver_sql(statement, (changed,))
        for asked, ids in (("plain§one", []), ("plain§two", [2])):
            assert session.scalars(select(Contact.id).where(Contact.email == asked)).all() == ids
            assert [one.id for one in find_all(session, Contact, by={Contact.email: asked})] == ids
        assert session.get_one(Contact, 1).email == "plain§one"
