"""Terms are compared with what their slot makes of the values."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vault.definitions.index_slot import SlotPin
from vault.errors import InvalidValueError
from vault.jobs.verifying.finding import FindingKind
from vault.jobs.verifying.term_check import term_faults, terms_of_nothing
from vault.terms.term import term_prefix

PIN = SlotPin(b"kkkk", 2)
KINDS = st.sampled_from(["right", "lacking", "other"])


def made(values: list[Any]) -> list[bytes | None]:
    """A number has a term, an odd one beyond 99 none, a text is refused."""
    terms: list[bytes | None] = []
    for value in values:
        if isinstance(value, str):
            raise InvalidValueError("is a text")
        terms.append(None if value > 99 and value % 2 else term_prefix(2, b"kkkk") + bytes([value % 251]))
    return terms


@given(st.lists(st.tuples(st.integers(0, 99), KINDS)), st.booleans())
def test_just_the_terms_that_differ_are_faults(rows: list[tuple[int, str]], complete: bool) -> None:
    values = [value for value, _ in rows]
    stored = [
        {"right": made([value])[0], "lacking": None, "other": made([value + 100 + value % 2])[0]}[how]
        for value, how in rows
    ]
    faults = term_faults(stored, values, made, PIN, complete=complete)
    wrong = {at for at, (_, how) in enumerate(rows) if how == "other"}
    lacking = {at for at, (_, how) in enumerate(rows) if how == "lacking" and complete}
    assert {at for at, kind, _ in faults if kind is FindingKind.TERM_WRONG} == wrong
    assert {at for at, kind, _ in faults if kind is FindingKind.TERM_LACKING} == lacking
    assert len(faults) == len(wrong) + len(lacking)


def test_the_reason_says_what_is_wrong_with_a_term() -> None:
    right = term_prefix(2, b"kkkk")
    stored = [right + b"x", term_prefix(2, b"jjjj") + b"x", term_prefix(1, b"kkkk") + b"x", b"", "text", right + b"x"]
    reasons = [reason for _, _, reason in term_faults(stored, [1, 1, 1, 1, 1, 101], made, PIN, complete=True)]
    assert reasons == [
        "it is another value's, or its bytes were changed",
        "made by index key 6a6a6a6a in generation 2, where the slot has key 6b6b6b6b in generation 2",
        "made by index key 6b6b6b6b in generation 1, where the slot has key 6b6b6b6b in generation 2",
        "these bytes are no term",
        "these bytes are no term",
        "the index takes a part of the value, which it has not",
    ]


def test_a_value_that_the_index_would_not_take_spoils_no_other() -> None:
    right = made([1])[0]
    faults = term_faults([right, None, right, right], [1, "text", 1, "text"], made, PIN, complete=True)
    expected = [(1, FindingKind.TERM_NOT_MADE, "is a text"), (3, FindingKind.TERM_NOT_MADE, "is a text")]
    assert faults == expected
    assert term_faults([right, None], [1, "text"], made, PIN, complete=False) == []


def test_terms_where_there_can_be_none() -> None:
    assert [(at, kind) for at, kind, _ in terms_of_nothing([None, b"x"])] == [(1, FindingKind.TERM_WITHOUT_VALUE)]
    assert [kind for _, kind, _ in terms_of_nothing([b"x"], pinned=False)] == [FindingKind.TERM_WITHOUT_KEY]
