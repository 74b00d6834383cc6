"""Two databases never count as one; what is addressed otherwise is the same where it can be told."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.pool import StaticPool

from tests.servers import mariadb
from tests.servers.postgres import fresh_database
from vault.databases.database_identity import DatabaseIdentity, identify, identity_of
from vault.errors import KeyInUseError


def identity(url: str, machine: str = "one") -> DatabaseIdentity:
    engine = create_engine(url)
    found = _identified(engine, machine)
    engine.dispose()
    assert found is not None
    return found


def _identified(engine: Engine, machine: str) -> DatabaseIdentity | None:
    with engine.connect() as connection:
        return identify(connection.connection.dbapi_connection, engine.dialect.name, engine.url, machine)


def test_it_is_the_same_each_time_and_another_on_another_machine(database_url: str) -> None:
    assert identity(database_url) == identity(database_url)
    assert identity(database_url).digest != identity(database_url, "two").digest
    assert len(identity(database_url).digest) == 64
    assert identity(database_url).place.endswith(" on one"), "a socket, or a file, which only this machine knows"


def test_user_password_and_query_are_no_part_of_it(database_url: str) -> None:
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        other = url.update_query_dict({"timeout": "9"})
    elif url.get_backend_name() == "postgresql":
        other = url.set(password="s3cret").update_query_dict({"application_name": "other"})
    else:
        other = url.update_query_dict({"charset": "utf8mb4"})
    named = identity(other.render_as_string(hide_password=False))
    assert named == identity(database_url)
    assert "s3cret" not in repr(named)


@pytest.mark.postgres
def test_two_databases_of_one_server_are_two_and_an_ordinary_role_is_told(
    postgres_url: str, postgres_server_url: str
) -> None:
    with fresh_database(postgres_server_url) as other:
        assert identity(postgres_url).digest != identity(other).digest
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE ROLE plain"))
    as_plain = create_engine(postgres_url, connect_args={"options": "-c role=plain"})
    found = _identified(as_plain, "one")
    as_plain.dispose()
    with engine.begin() as connection:
        connection.execute(text("DROP ROLE plain"))
    engine.dispose()
    assert found == identity(postgres_url)
    assert found is not None
    assert found.instance.startswith(f"{found.said} ")
    cluster, number, schema = found.said.split()
    assert schema == "public"
    assert int(cluster) > 0
    assert int(number) > 0


@pytest.mark.postgres
def test_two_schemas_of_one_database_are_two(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA ward"))
    ward = create_engine(make_url(postgres_url).update_query_dict({"options": "-csearch_path=ward"}))
    found = _identified(ward, "one")
    ward.dispose()
    engine.dispose()
    assert found is not None
    assert found.place == f"{identity(postgres_url).place}, schema ward"
    assert found.instance != identity(postgres_url).instance


@pytest.mark.mariadb
def test_two_databases_of_mariadb_are_two(mariadb_url: str, request: pytest.FixtureRequest) -> None:
    with mariadb.fresh_database(request.getfixturevalue("mariadb_server_url")) as other:
        assert identity(mariadb_url).digest != identity(other).digest
    assert identity(mariadb_url).said != ""


def test_a_link_to_a_file_is_the_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "one.db")):
        (tmp_path / "link.db").symlink_to(tmp_path / "one.db")
    assert identity(f"sqlite:///{tmp_path / 'link.db'}") == identity(f"sqlite:///{tmp_path / 'one.db'}")
    assert identity(f"sqlite:///{tmp_path / 'two.db'}") != identity(f"sqlite:///{tmp_path / 'one.db'}")


def test_what_is_in_memory_ends_with_its_process() -> None:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    assert _identified(engine, "one") is None
    engine.dispose()


class _Silent:
    """A driver's connection to a server that tells nothing."""

    def cursor(self) -> "_Silent":
        return self

    def execute(self, _question: str) -> None:
        raise RuntimeError("permission denied")

    def rollback(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql+psycopg://u:p@DB.example./clinic", "postgresql://db.example:5432/clinic"),
        ("postgresql+asyncpg://u:p@db.example:6432/clinic", "postgresql://db.example:6432/clinic"),
        ("mariadb+pymysql://u:p@db.example/clinic", "mysql://db.example:3306/clinic"),
        ("mysql+pymysql://u@127.0.0.1/clinic", "mysql://127.0.0.1:3306/clinic on one"),
        ("postgresql+psycopg://u@/clinic?host=/run/pg", "postgresql:///run/pg/clinic on one"),
    ],
)
def test_a_server_elsewhere_is_told_by_its_address_also_where_it_says_nothing(url: str, place: str) -> None:
    parsed = make_url(url)
    silent: Any = _Silent()
    found = identify(silent, parsed.get_backend_name(), parsed, "one")
    assert found is not None
    assert found.place == place
    assert found.said.strip() == ""


class _Server(_Silent):
    """One that answers, by what the question has in it."""

    def __init__(self, **answers: str) -> None:
        self._answers = answers
        self._asked = ""

    def execute(self, question: str) -> None:
        self._asked = question

    def fetchone(self) -> tuple[str | None]:
        return (next((told for part, told in self._answers.items() if part in self._asked), None),)


NO_GALERA = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"uid": "a"}, {"uid": "b"}, False),
        ({"uid": "a", "status": NO_GALERA}, {"uid": "b", "status": NO_GALERA}, False),
        ({"uid": "a", "status": "b5f9"}, {"uid": "b", "status": "b5f9"}, True),
        ({"uid": "a", "status": "b5f9"}, {"uid": "a", "status": "c0d1"}, False),
    ],
)
def test_two_servers_of_mariadb_by_one_name_are_two_unless_they_are_nodes_of_one_cluster(
    one: dict[str, str], other: dict[str, str], same: bool
) -> None:
    """A short name, such as db, leads to another server in each network."""
    url = make_url("mariadb+pymysql://u:p@db/clinic")
    servers: list[Any] = [_Server(**answers) for answers in (one, other)]
    found = {identify(server, "mariadb", url, "one") for server in servers}
    assert (len(found) == 1) is same


def test_a_database_is_told_by_its_engine_and_one_in_memory_is_refused(tmp_path: Path) -> None:
    for url, place in ((f"sqlite:///{tmp_path / 'application.db'}", "application.db"), ("sqlite://", "")):
        engine = create_engine(url, poolclass=StaticPool)
        if place:
            assert place in identity_of(engine).place
        else:
            with pytest.raises(KeyInUseError, match="in memory"):
                identity_of(engine)
        engine.dispose()
