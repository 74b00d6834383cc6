"""Where a question is kept: found by a MAC of all that is public in it."""

import hmac

from hypothesis import given, settings
from hypothesis import strategies as st

from dp.ledger.place import Place
from dp.price import Price
from dp.request import Request
from tests.dp.ledger.sealing import QUESTION_KEY, HmacKey

KEY = HmacKey(b"qqqq", QUESTION_KEY)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
requests = st.builds(
    Request,
    dataset=st.sampled_from(["a", "b"]),
    epoch=st.integers(1, 2),
    principal=st.sampled_from(["ann", "bob"]),
    question_text=texts,
    price=st.one_of(
        st.integers(1, 2).map(Price.pure),
        st.builds(Price, st.none() | st.integers(1, 2), st.integers(1, 2), st.integers(0, 1)),
    ),
    parameters=texts,
    group_labels=st.lists(texts, max_size=2).map(tuple),
    shared=st.booleans(),
)


@settings(deadline=None)
@given(requests, requests)
def test_two_requests_share_a_place_only_when_they_are_the_same_question(one: Request, other: Request) -> None:
    def public(request: Request) -> tuple[object, ...]:
        return (
            request.visibility,
            request.dataset,
            request.epoch,
            request.question_text,
            request.parameters,
            request.group_labels,
            request.price,
        )

    assert (Place.of(one, KEY) == Place.of(other, KEY)) == (public(one) == public(other))


@settings(deadline=None)
@given(requests, st.integers(1, 3), st.integers(1, 3))
def test_an_answer_is_bound_to_its_question_and_attempt(request: Request, one: int, other: int) -> None:
    place = Place.of(request, KEY)
    assert (place.answer_aad(one) == place.answer_aad(other)) == (one == other)
    assert place.answer_aad(one) != place.question_aad("00")


def test_the_mac_needs_the_key_and_is_frozen() -> None:
    request = Request("people", 1, "ann", "COUNT(*)", Price.pure(10**9))
    place = Place.of(request, KEY)
    message = (
        b'{"dataset":"people","epoch":1,"format":"noisevault/1 question","groups":[],'
        b'"nano_epsilon":1000000000,"parameters":"","question":"COUNT(*)"}'
    )
    assert place.question_mac == hmac.digest(QUESTION_KEY, message, "sha256").hex()
    assert Place.of(request, HmacKey(b"qqqq", b"another key")).question_mac != place.question_mac
