"""Requests are checked when they are made."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.price import Price
from dp.request import Request

GOOD: dict[str, object] = {
    "dataset": "people",
    "epoch": 1,
    "principal": "ann",
    "question_text": "COUNT(*)",
    "price": Price.pure(10**9),
    "parameters": "rows=1",
    "group_labels": ("a", "b"),
    "columns": ("age", "city"),
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, value) for name in ("dataset", "principal") for value in ("", " a", "a ", "a\tb", "x" * 191, 5, None)),
        *(("epoch", value) for value in (0, -1, 2**63, True, 1.0, None)),
        *(("price", value) for value in (0, 10**9, 0.1, "1", None)),
        *(("question_text", value) for value in ("", "\ud83d", b"COUNT", None)),
        *(("parameters", value) for value in ("\udc00", None)),
        *(("group_labels", value) for value in (["a"], ("a", None), ("\ud83d",), "ab")),
        *(("columns", value) for value in (["age"], ("b", "a"), ("a", "a"), ("",), (None,), "ab")),
        ("column_prices", []),
        ("column_prices", (Price.pure(1),)),
        ("column_prices", None),
        *(("request_id", value) for value in ("", " a", "a ", "a\tb", "é", "x" * 65, 5, b"a")),
    ],
)
def test_a_field_that_cannot_be_used_is_named(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{field}: ") as refusal:
        Request(**{**GOOD, field: value})  # type: ignore[arg-type]
    assert refusal.value.parameter == field


@settings(deadline=None)
@given(st.text(min_size=1, max_size=190), st.text(min_size=1))
def test_every_request_there_is_can_be_stored(name: str, text: str) -> None:
    try:
        request = Request(**{**GOOD, "dataset": name, "question_text": text})  # type: ignore[arg-type]
    except ParameterError:
        assert not name.isprintable() or name != name.strip() or any(0xD800 <= ord(c) <= 0xDFFF for c in text)
    else:
        assert "\0" not in request.dataset
        request.question_text.encode()


def test_each_column_may_have_a_price_of_its_own() -> None:
    prices = Price.pure(1), Price.gaussian(1)
    assert Request(**GOOD, column_prices=prices).column_prices == prices  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^price: "):
        Request(**GOOD, column_prices=(prices[0], 1))  # type: ignore[arg-type]


def test_an_answer_is_ones_own_unless_it_is_declared_shared() -> None:
    own = Request(**GOOD)  # type: ignore[arg-type]
    shared = Request(**GOOD, shared=True)  # type: ignore[arg-type]
    called_shared = Request(**{**GOOD, "principal": "shared"})  # type: ignore[arg-type]
    assert [own.visibility, shared.visibility, called_shared.visibility] == [
        "principal:ann",
        "shared",
        "principal:shared",
    ]


def test_a_request_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Request(**GOOD).epoch = 2  # type: ignore[arg-type,misc]


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii"), max_size=70) | st.text(max_size=3))
def test_a_request_id_is_printable_ascii_and_no_more(request_id: str) -> None:
    allowed = (
        0 < len(request_id) <= 64 and all(" " <= c <= "~" for c in request_id) and request_id == request_id.strip()
    )
    try:
        request = Request(**GOOD, request_id=request_id)  # type: ignore[arg-type]
    except ParameterError:
        assert not allowed
    else:
        assert allowed
        assert request.request_id == request_id
