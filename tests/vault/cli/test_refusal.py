"""What is told of an error is one line that quotes no row; what nobody expects is not told as if it were."""

import sqlite3

import psycopg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from dp import ParameterError
from kms import KeyFileError
from vault import PolicyError
from vault.cli.refusal import refusal_of


class _Unique(psycopg.errors.UniqueViolation):
    sqlstate = "23505"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PolicyError("the policy says nothing"), "the policy says nothing"),
        (KeyFileError("there is no key file"), "there is no key file"),
        (ParameterError("epsilon", "it is too large"), "epsilon: it is too large"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), "No such file or directory: a.csv"),
        (OSError("no place"), "no place"),
    ],
)
def test_what_is_expected_is_told_in_its_own_words(error: Exception, told: str) -> None:
    assert refusal_of(error) == told


def test_the_drivers_words_are_told_of_a_connection_alone() -> None:
    away = OperationalError(None, None, sqlite3.OperationalError("unable to open\nthe file"))
    assert refusal_of(away) == "the database of the data does not answer (unable to open)"
    named = OperationalError(None, None, sqlite3.OperationalError('could not translate host name "rest-of-it@db"'))
    assert refusal_of(named) == (
        "the database of the data does not answer (OperationalError; in its URL an @ of a password is written %40)"
    )
    doubled = IntegrityError("INSERT INTO visit ...", {"person": 41}, _Unique("Key (person)=(41) exists"))
    assert refusal_of(doubled) == (
        "the database refused or did not answer (IntegrityError, SQLSTATE 23505); its own log says more"
    )


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), ZeroDivisionError()])
def test_a_fault_of_the_program_is_not_told_in_a_line(error: Exception) -> None:
    assert refusal_of(error) is None
