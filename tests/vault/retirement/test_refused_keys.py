"""What the triggers on sealed and term columns refuse, on three databases, and how they are made and kept."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from tests.vault.projects import write_policy
from vault import Sealed
from vault.errors import KeyInUseError
from vault.policy import Policy
from vault.retirement.key_refusal import refusals_of
from vault.retirement.refused_keys import refuse_keys, refused_keys
from vault.rows.raw_table import raw_table
from vault.schema import tables

OLD, OTHER, NEW = (bytes.fromhex(one) for one in ("9692ad97", "00ff275c", "11111111"))
REFUSED = "by a retired key"


def value(key_id: bytes, filling: bytes = b"v") -> bytes:
    return b"\x01\x00" + key_id + filling * 30


def term(key_id: bytes) -> bytes:
    return b"\x00" + key_id + b"t" * 16


@pytest.fixture
def table(tmp_path: Path, database_url: str) -> Table:
    return tables(Policy.load(write_policy(tmp_path, database_url))).tables["visit"]


@pytest.fixture
def engine(table: Table, database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    table.create(engine)
    yield engine
    engine.dispose()


def row(person: int, key_id: bytes, **columns: Any) -> dict[str, Any]:
    return {"person": person, "year": 1, "site": 1, "diagnosis": value(key_id)} | columns


def refused(engine: Engine, statement: Any, *parameters: Any) -> None:
    with pytest.raises(DBAPIError, match=REFUSED), engine.begin() as connection:
        connection.execute(statement, *parameters)


def done(engine: Engine, statement: Any) -> None:
    with engine.begin() as connection:
        connection.execute(statement)


def test_a_new_or_changed_value_or_term_by_a_listed_key_is_refused_and_nothing_else(
    engine: Engine, table: Table
) -> None:
    raw = raw_table(table)
    done(engine, insert(raw).values(row(1, OLD, national_id_bidx_a=term(OTHER))))
    assert refused_keys(engine, table) == frozenset()
    refuse_keys(engine, table, [OLD])
    refuse_keys(engine, table, [OTHER])
    assert refused_keys(engine, table) == {OLD, OTHER}
    refused(engine, insert(raw).values(row(2, OLD)))
    refused(engine, insert(raw).values(row(2, NEW, national_id_bidx_a=term(OTHER))))
    refused(engine, insert(raw).values(row(2, NEW, national_id_bidx_b=term(OTHER))))
    refused(engine, update(raw).values(diagnosis=value(OLD, b"w")))
    refused(engine, update(raw).values(spending=value(OTHER)))
    copy = select(raw.c.person + 10, raw.c.year, raw.c.site, raw.c.diagnosis)
    refused(engine, insert(raw).from_select(["person", "year", "site", "diagnosis"], copy))
    done(engine, update(raw).where(raw.c.person == 1).values(site=2, diagnosis=value(OLD)))  # as it was
    done(engine, insert(raw).values(row(3, NEW, national_id_bidx_a=term(NEW))))
    done(engine, insert(raw).values(row(4, NEW, diagnosis=None)))
    done(engine, insert(raw).values(row(5, NEW, diagnosis=value(NEW, OLD))))  # its bytes elsewhere name no key
    done(engine, update(raw).where(raw.c.person == 1).values(diagnosis=value(NEW), national_id_bidx_a=None))


def test_an_upsert_is_refused_too(engine: Engine, table: Table) -> None:
    raw = raw_table(table)
    done(engine, insert(raw).values(row(1, NEW)))
    refuse_keys(engine, table, [OLD])
    names = ", ".join(row(1, OLD))
    clause = {
        "mysql": "ON DUPLICATE KEY UPDATE diagnosis = VALUES(diagnosis)",
        "postgresql": "ON CONFLICT (person, year) DO UPDATE SET diagnosis = excluded.diagnosis",
        "sqlite": "ON CONFLICT (person, year) DO UPDATE SET diagnosis = excluded.diagnosis",
    }[engine.dialect.name]
    given = ", ".join(f":{name}" for name in row(1, OLD))
    refused(engine, text(f"INSERT INTO visit ({names}) VALUES ({given}) {clause}"), row(1, OLD))
    if engine.dialect.name != "postgresql":
        refused(engine, text(f"REPLACE INTO visit ({names}) VALUES ({given})"), row(1, OLD))
    with engine.connect() as connection:
        assert connection.scalars(select(raw.c.diagnosis)).all() == [value(NEW)]


def test_the_list_only_grows_also_where_one_column_lost_its_trigger(engine: Engine, table: Table) -> None:
    refuse_keys(engine, table, [OLD])
    last = refusals_of(table)[-1]
    with engine.begin() as connection:
        for statement in last.undo(engine.dialect):
            connection.exec_driver_sql(statement)
    assert refused_keys(engine, table) == frozenset(), "not by every column"
    refuse_keys(engine, table, [NEW])
    assert refused_keys(engine, table) == {OLD, NEW}


def test_a_view_is_told_as_one(engine: Engine, table: Table) -> None:
    done(engine, text("ALTER TABLE visit RENAME TO visit_behind"))
    done(engine, text("CREATE VIEW visit AS SELECT * FROM visit_behind"))
    try:
        with pytest.raises(KeyInUseError, match="visit is a view: declare the table behind it"):
            refuse_keys(engine, table, [OLD])
    finally:
        done(engine, text("DROP VIEW visit"))


def test_names_of_any_kind_are_read_back_as_they_were_made(tmp_path: Path, database_url: str) -> None:
    del tmp_path
    names = ["Mail", "select", 'we"ird', "a`b", "o'k", "per%cent", "a$$b", "sp ace", "par)en,(x"]
    columns = [Column(name, Sealed(Text)) for name in names]
    table = Table("odd", MetaData(), Column("id", Integer, primary_key=True), *columns)
    engine = create_engine(database_url)
    table.create(engine)
    refuse_keys(engine, table, [OLD])
    assert refused_keys(engine, table) == {OLD}
    raw = raw_table(table)
    for at, name in enumerate(names):
        refused(engine, insert(raw), {"id": at, **dict.fromkeys(names, value(NEW)), name: value(OLD)})
    done(engine, insert(raw).values({"id": 0, **dict.fromkeys(names, value(NEW))}))
    engine.dispose()


def test_a_trigger_that_went_with_a_renamed_column_is_not_taken_for_one_on_its_successor(
    engine: Engine, table: Table
) -> None:
    """Where databases have a trigger follow its column: a new one by the old name is judged by none."""
    if engine.dialect.name == "mysql":
        pytest.skip("there a trigger of a renamed column refuses every write")
    refuse_keys(engine, table, [OLD])
    kind = "BYTEA" if engine.dialect.name == "postgresql" else "BLOB"
    done(engine, text("ALTER TABLE visit RENAME COLUMN diagnosis TO diagnosis_before"))
    done(engine, text(f"ALTER TABLE visit ADD COLUMN diagnosis {kind}"))
    assert refused_keys(engine, table) == frozenset()
    refuse_keys(engine, table, [OLD])
    assert refused_keys(engine, table) == {OLD}
    refused(engine, insert(raw_table(table)).values(row(1, OLD)))
    done(engine, insert(raw_table(table)).values(row(1, NEW)))


def test_what_another_trigger_puts_in_is_judged(engine: Engine, table: Table) -> None:
    """Made later, and by its name after ours."""
    refuse_keys(engine, table, [OLD])
    literal = value(OLD).hex()
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(
                "CREATE FUNCTION zz() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN NEW.diagnosis := '\\x{literal}'::bytea; RETURN NEW; END $$"
            )
            connection.exec_driver_sql("CREATE TRIGGER zz BEFORE INSERT ON visit FOR EACH ROW EXECUTE FUNCTION zz()")
        elif engine.dialect.name == "sqlite":
            connection.exec_driver_sql(
                f"CREATE TRIGGER zz AFTER INSERT ON visit BEGIN UPDATE visit SET diagnosis = x'{literal}'; END"
            )
        else:
            connection.exec_driver_sql(
                f"CREATE TRIGGER zz BEFORE INSERT ON visit FOR EACH ROW SET NEW.diagnosis = x'{literal}'"
            )
    refused(engine, insert(raw_table(table)).values(row(1, NEW)))


def test_making_it_waits_for_who_wrote_already_and_its_row_is_seen(engine: Engine, table: Table) -> None:
    raw, made = raw_table(table), threading.Event()

    def make() -> None:
        refuse_keys(engine, table, [OLD])
        made.set()

    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(insert(raw).values(row(1, OLD)))
        thread = threading.Thread(target=make)
        thread.start()
        time.sleep(0.5)
        assert not made.is_set()
    thread.join(30)
    assert made.is_set()
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(raw)) == 1


def test_who_holds_the_table_for_long_is_told_and_how_to_find_it(engine: Engine, table: Table) -> None:
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(insert(raw_table(table)).values(row(1, OLD)))
        impatient = create_engine(engine.url, connect_args={"timeout": 0.1} if engine.name == "sqlite" else {})
        with pytest.raises(KeyInUseError, match=r"has held visit for 0.5 s: end it, .* it is one of: ") as told:
            refuse_keys(impatient, table, [OLD], patience=0.5)
        impatient.dispose()
        asked = str(told.value).partition("it is one of: ")[2]
        if engine.dialect.name != "sqlite":
            with engine.connect() as other:
                for question in asked.split(", and "):
                    other.exec_driver_sql(question)
    assert refused_keys(engine, table) == frozenset()


@pytest.mark.postgres
class TestOnPostgresql:
    @pytest.fixture
    def database_url(self, postgres_url: str) -> str:
        return postgres_url

    def test_copy_and_a_session_that_calls_itself_a_replica_are_refused(self, engine: Engine, table: Table) -> None:
        refuse_keys(engine, table, [OLD])
        with engine.connect() as connection:
            connection.exec_driver_sql("SET session_replication_role = replica")
            with pytest.raises(DBAPIError, match=REFUSED):
                connection.execute(insert(raw_table(table)).values(row(1, OLD)))
            connection.rollback()
            driver: Any = connection.connection.dbapi_connection
            with pytest.raises(driver_error(engine), match=REFUSED):
                copy_in(driver)

    def test_a_restore_that_leaves_it_enabled_for_ordinary_sessions_alone_is_seen_and_mended(
        self, engine: Engine, table: Table
    ) -> None:
        """As pg_restore --disable-triggers does."""
        refuse_keys(engine, table, [OLD])
        for way in ("DISABLE", "ENABLE"):
            done(engine, text(f"ALTER TABLE visit {way} TRIGGER ALL"))
            assert refused_keys(engine, table) == frozenset()
        refuse_keys(engine, table, [])
        assert refused_keys(engine, table) == frozenset(), "what fires for some sessions only, is not listed"
        refuse_keys(engine, table, [OLD])
        assert refused_keys(engine, table) == {OLD}

    @pytest.mark.parametrize("kind", ["partition", "child"])
    def test_partitions_and_tables_that_inherit_refuse_it_each(
        self, postgres_url: str, table: Table, kind: str
    ) -> None:
        engine = create_engine(postgres_url)
        with engine.begin() as connection:
            if kind == "child":
                table.create(connection)
                connection.exec_driver_sql("CREATE TABLE elsewhere () INHERITS (visit)")
            else:
                connection.exec_driver_sql(
                    "CREATE TABLE visit (person int, year int, site int, national_id bytea, national_id_bidx_a bytea,"
                    " national_id_bidx_b bytea, diagnosis bytea, spending bytea) PARTITION BY RANGE (person)"
                )
                connection.exec_driver_sql("CREATE TABLE elsewhere PARTITION OF visit FOR VALUES FROM (0) TO (100)")
        refuse_keys(engine, table, [OLD])
        assert refused_keys(engine, table) == {OLD}
        if kind == "partition":
            done(engine, text("CREATE TABLE later PARTITION OF visit FOR VALUES FROM (100) TO (200)"))
            assert refused_keys(engine, table) == {OLD}
        for place in ("visit", "elsewhere", "later") if kind == "partition" else ("visit", "elsewhere"):
            person, stored = 150 if place == "later" else 1, value(OLD).hex()
            given = f"({person}, 1, 1, '\\x{stored}')"
            with engine.connect() as connection:
                connection.exec_driver_sql("SET session_replication_role = replica")
                with pytest.raises(DBAPIError, match=REFUSED):
                    connection.exec_driver_sql(f"INSERT INTO {place} (person, year, site, diagnosis) VALUES {given}")
                connection.invalidate()
        done(engine, text("ALTER TABLE elsewhere DISABLE TRIGGER ALL"))
        assert refused_keys(engine, table) == frozenset(), "not in each"
        engine.dispose()

    def test_a_role_without_the_right_is_told_what_the_owner_runs(self, engine: Engine, table: Table) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP ROLE IF EXISTS poor")
            connection.exec_driver_sql("CREATE ROLE poor")
            connection.exec_driver_sql("GRANT SELECT, INSERT, UPDATE ON visit TO poor")
        poor = create_engine(engine.url, connect_args={"options": "-c role=poor"})
        with pytest.raises(KeyInUseError, match="may not make a trigger on visit: let its owner run") as told:
            refuse_keys(poor, table, [OLD])
        poor.dispose()
        _, _, typed = str(told.value).partition("\n")
        with engine.connect() as connection:
            driver: Any = connection.connection.dbapi_connection
            driver.autocommit = True
            for statement in typed.removesuffix(";").split(";\n"):
                driver.execute(statement)
            driver.autocommit = False
        assert refused_keys(engine, table) == {OLD}
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP OWNED BY poor")
            connection.exec_driver_sql("DROP ROLE poor")


@pytest.mark.mariadb
@pytest.mark.parametrize("kind", ["MyISAM", "Aria"])
def test_a_table_without_transactions_keeps_what_is_refused_so_that_no_key_goes_by_it(
    tmp_path: Path, mariadb_url: str, kind: str
) -> None:
    table = tables(Policy.load(write_policy(tmp_path, mariadb_url))).tables["visit"]
    engine = create_engine(mariadb_url)
    table.create(engine)
    refuse_keys(engine, table, [OLD])
    raw = raw_table(table)
    done(engine, insert(raw).values(row(1, NEW)))
    done(engine, text(f"ALTER TABLE visit ENGINE={kind}"))
    refused(engine, update(raw).values(diagnosis=value(OLD)))
    with engine.connect() as connection:
        assert connection.scalars(select(raw.c.diagnosis)).all() == [value(OLD)], "and it is there"
    assert refused_keys(engine, table) == frozenset()
    with pytest.raises(KeyInUseError, match=r"visit has no transactions, .* ALTER TABLE visit ENGINE=InnoDB, then"):
        refuse_keys(engine, table, [OLD])
    done(engine, text("ALTER TABLE visit ENGINE=InnoDB"))
    assert refused_keys(engine, table) == {OLD}
    engine.dispose()


def driver_error(engine: Engine) -> type[Exception]:
    return engine.dialect.loaded_dbapi.Error  # type: ignore[no-any-return]


def copy_in(driver: Any) -> None:
    copied = "COPY visit (person, year, site, diagnosis) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(copied) as copy:
        copy.write_row((1, 1, 1, "\\x" + value(OLD).hex()))
