"""A database that was used is given again only if it is as a new one."""

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.servers.postgres import fresh_database

STATE = (
    "SELECT nspname, nspowner::regrole::text, nspacl::text, obj_description(oid) FROM pg_namespace ORDER BY nspname",
    "SELECT relname FROM pg_class WHERE relnamespace::regnamespace::text !~ '^(pg_|information_schema)'",
    "SELECT typname FROM pg_type WHERE typnamespace::regnamespace::text !~ '^(pg_|information_schema)'",
    "SELECT proname FROM pg_proc WHERE pronamespace::regnamespace::text !~ '^(pg_|information_schema)'",
    "SELECT pubname FROM pg_publication",
    "SELECT datacl::text, datconnlimit FROM pg_database WHERE datname = current_database()",
    "SHOW work_mem",
)
IDENTITY = text("SELECT oid FROM pg_database WHERE datname = current_database()")
HELD_BY_SCHEMAS = (
    "CREATE TABLE a (x int)",
    'CREATE SCHEMA "of b"',
    'CREATE TABLE "of b".b (x serial)',
    "CREATE TYPE color AS ENUM ('a')",
    "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
)
ALTER = "DO $$ BEGIN EXECUTE '{} ' || quote_ident(current_database()) || '{}'; END $$"

pytestmark = pytest.mark.postgres


def used(server: str, *statements: str) -> tuple[object, list[object], str]:
    """Its identity and state at first and its URL, after the statements were run and the connection left open."""
    with fresh_database(server) as url:
        connection = create_engine(url, isolation_level="AUTOCOMMIT").connect()
        state = [row for query in STATE for row in connection.execute(text(query)).all()]
        identity = connection.scalar(IDENTITY)
        for statement in statements:
            connection.execute(text(statement))
    with pytest.raises(OperationalError):
        connection.execute(text("SELECT 1"))
    connection.engine.dispose()
    return identity, state, url


def test_what_schemas_hold_is_taken_out_and_the_name_is_another(postgres_server_url: str) -> None:
    first, state, url = used(postgres_server_url, *HELD_BY_SCHEMAS)
    again = used(postgres_server_url)
    assert again[:2] == (first, state)
    assert again[2] != url


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE PUBLICATION everything FOR ALL TABLES",
        ALTER.format("ALTER DATABASE", " SET work_mem = ''1MB''"),
        ALTER.format("ALTER DATABASE", " CONNECTION LIMIT 7"),
        ALTER.format("REVOKE CONNECT ON DATABASE", " FROM PUBLIC"),
        "SELECT lo_create(0)",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
    ],
)
def test_where_there_is_more_it_is_dropped(postgres_server_url: str, statement: str) -> None:
    first, state, _ = used(postgres_server_url, statement)
    again = used(postgres_server_url)
    assert again[0] != first
    assert again[1] == state
