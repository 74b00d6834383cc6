import pytest
from sqlalchemy import select
from sqlalchemy.dialects import mysql, postgresql, sqlite

from tests.vault.mapping.clinic import Person
from vault.errors import SealedColumnError
from vault.mapping import term_columns
from vault.mapping.term_type import AskedTerm, Term, asked_type

P = Person.__table__


def test_a_term_column_takes_terms_only() -> None:
    check = Term(37).bind_processor(sqlite.dialect())
    assert check(None) is None
    assert check(b"x" * 37) == b"x" * 37
    assert check(b"x" * 13) == b"x" * 13, "an index of another width, while it is changed"
    for value in ("x" * 37, b"x" * 38, b"x" * 5, 1):
        with pytest.raises(SealedColumnError, match="terms of 6 to 37 bytes"):
            check(value)


def test_a_term_column_has_a_fixed_size_where_the_database_has_one() -> None:
    assert str(Term(37).compile(dialect=mysql.dialect())) == "BINARY(37)"
    assert str(Term(37).compile(dialect=postgresql.dialect())) == "BYTEA"


def test_a_term_column_is_read_as_bytes() -> None:
    read = Term(37).result_processor(sqlite.dialect(), None)
    assert read(memoryview(b"t")) == b"t"
    assert read(None) is None


def test_asked_terms_of_two_indexes_are_two_cache_keys() -> None:
    kinds = [asked_type(P.c[name].type.owner, None, many) for name in ("ssn", "email") for many in (False, True)]
    assert len({kind._static_cache_key for kind in kinds}) == 4
    assert asked_type(P.c.ssn.type.owner, False) is kinds[0]
    assert repr(kinds[0]) == "AskedTerm(person.ssn, 'bidx')"


def test_null_is_no_term() -> None:
    for none_matches_nothing in (True, False):
        compute = AskedTerm(P.c.ssn.type.owner, "bidx", none_matches_nothing).bind_processor(sqlite.dialect())
        if none_matches_nothing:
            assert compute(None) is None
        else:
            with pytest.raises(SealedColumnError, match=r"use is_\(None\)"):
                compute(None)


def test_terms_can_be_selected_by_name() -> None:
    assert "ssn_bidx_a" in str(select(term_columns(P.c.ssn)[0]))
