"""Hidden details: a broken rule is told with its table and key, and without the plaintext that it is about."""

import logging
import traceback

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tests.vault.mapping.migrating import Migration, Patient
from vault.mapping.hide_details import without_details
from vault.modes.mode import Mode

pytestmark = pytest.mark.databases_in_turn

SECRET = "plain§s3cr3t-∆"


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("rule", ["unique", "not null"])
def test_the_secret_is_in_no_message(
    migration: Migration, mode: Mode, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    """K14-01, in each mode: the error still names the table."""
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        session.add(Patient(id=1, ssn=SECRET))
        session.commit()
    row = {"id": 2, "ssn": SECRET} if rule == "unique" else {"id": None, "ssn": SECRET + "2"}
    core = {"id": row["id"], "ssn_sealed": row["ssn"]}
    if rule == "not null" and migration.engine.dialect.name != "postgresql":
        core |= {"id": 1}  # where a key that is NULL is one that the server makes
    with Session(migration.engine) as session, pytest.raises(DBAPIError) as caught:
        session.connection().execute(insert(Patient.__table__), core)
    logging.getLogger("application").error("failed", exc_info=caught.value)
    shown = (
        "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(caught.value.orig) + caplog.text
    )
    shown += repr(caught.value.args) + repr(caught.value.orig)
    assert SECRET not in shown
    assert "s3cr3t" not in shown
    assert "patient" in str(caught.value)


def test_an_engine_without_migrating_fields_is_left_as_it_is(migration: Migration) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(migration.engine.url)
    with migration.engine.begin() as connection:
        connection.execute(text("INSERT INTO patient (id, name) VALUES (1, 'n')"))
    with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(text("INSERT INTO patient (id, name) VALUES (1, 'n')"))
    expected = {"postgresql": "DETAIL", "mysql": "Duplicate entry '1'", "sqlite": "UNIQUE"}
    assert expected[engine.dialect.name] in str(caught.value)


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            'duplicate key value violates unique constraint "ix"\nDETAIL:  Key (ssn)=(s3cr3t) already exists.',
            'duplicate key value violates unique constraint "ix"',
        ),
        ("Duplicate entry 's3'cr3t' for key 'ix_ssn'", "Duplicate entry '...' for key 'ix_ssn'"),
        (
            "Incorrect string value: '\\xF0s3cr3t' for column 'ssn' at row 1",
            "Incorrect string value: '...' for column 'ssn' at row 1",
        ),
        ('invalid input syntax for type date: "s3cr3t"', "invalid input syntax for type date"),
        ("UNIQUE constraint failed: patient.ssn", "UNIQUE constraint failed: patient.ssn"),
    ],
)
def test_what_a_message_quotes_is_cut(message: str, kept: str) -> None:
    assert without_details(message) == kept
