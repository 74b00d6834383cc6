"""What a database says of a row is cut down to the kind of rule and its name, whatever the row holds."""

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import DBAPIError

from vault.jobs.refusal import as_job_error, refusal

# A value that looks like the end of a driver's message.
SECRET = "x' for key 'SECRET"
TABLES = (
    "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
    """CREATE TABLE t (
        id INTEGER NOT NULL PRIMARY KEY, u VARCHAR(200), n INTEGER NOT NULL, parent INTEGER,
        CONSTRAINT small CHECK (n < 10), CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parent (id)
    )""",
    "CREATE UNIQUE INDEX own ON t (u)",
)


@pytest.fixture
def engine(database_url: str) -> Engine:
    engine = create_engine(database_url, hide_parameters=True)
    with engine.begin() as connection:
        for statement in TABLES:
            connection.exec_driver_sql(statement)
        insert(connection, 1, SECRET, 1)
    return engine


def insert(connection: object, *values: object) -> None:
    given = ", ".join("NULL" if v is None else "'" + str(v).replace("'", "''") + "'" for v in values)
    columns = "id, u, n, parent" if len(values) == 4 else "id, u, n"
    connection.exec_driver_sql(f"INSERT INTO t ({columns}) VALUES ({given})")  # type: ignore[attr-defined]


def refused(engine: Engine, *values: object) -> DBAPIError:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA foreign_keys = ON")
        with pytest.raises(DBAPIError) as caught:
            insert(connection, *values)
    return caught.value


@pytest.mark.parametrize(
    ("values", "kind", "names"),
    [
        ((2, SECRET, 1), "a unique index", {"own", "t.u"}),
        ((2, "SECRET", None), "a NOT NULL constraint", {"n", "t.n"}),
        ((2, "SECRET", 99), "a CHECK constraint", {"small"}),
        ((2, "SECRET", 1, 4711), "a foreign key", {"of_parent", None}),
    ],
)
def test_the_rule_is_told_and_no_value(engine: Engine, values: tuple[object, ...], kind: str, names: set[str]) -> None:
    said = refusal(refused(engine, *values))
    own = {f"the database refuses the new value by {kind}{f' ({name})' if name else ''}" for name in names}
    assert said in own


TRIGGERS = {
    "sqlite": ["CREATE TRIGGER x BEFORE INSERT ON t BEGIN SELECT raise(ABORT, 'SECRET constraint failed: x'); END"],
    "postgresql": [
        """CREATE FUNCTION x() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''%% is SECRET'', new.u USING CONSTRAINT = new.u; END'""",
        "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION x()",
    ],
    "mysql": ["CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SIGNAL SQLSTATE '45000' SET message_text = 'SECRET'"],
}


def test_of_a_trigger_nothing_is_told_but_that_it_is_one(engine: Engine) -> None:
    with engine.begin() as connection:
        for statement in TRIGGERS[engine.dialect.name]:
            connection.exec_driver_sql(statement)
    error = refused(engine, 2, "SECRET", 1)
    assert refusal(error) == "the database refuses the new value by a trigger"
    assert "SECRET" not in str(as_job_error(error, "t"))


def test_a_value_that_the_type_cannot_hold_is_a_row_s_fault(database_url: str) -> None:
    if database_url.startswith("sqlite"):
        return  # it holds anything
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE s (c VARCHAR(3))")
        with pytest.raises(DBAPIError) as caught:
            connection.exec_driver_sql("INSERT INTO s VALUES ('SECRET')")
    assert (
        refusal(caught.value) == "the database refuses the new value by the column's type, which cannot hold the value"
    )


def test_what_blames_no_row_is_no_refusal(engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.exec_driver_sql("SELECT 'SECRET' FROM nowhere")
    assert refusal(caught.value) is None
    told = str(as_job_error(caught.value, "visit"))
    assert told.startswith("visit: the database refused a statement of the job: ")
    assert "SECRET" not in told
