import json

from hypothesis import given
from hypothesis import strategies as st

from vault.deadline.outcome import Outcome, Told

ANSWERS = st.dictionaries(st.text(max_size=5), st.integers(), max_size=20).map(lambda d: json.dumps(d).encode())


@given(st.integers(600, 5000), ANSWERS, st.text(max_size=30))
def test_all_outcomes_have_the_same_members_and_fill_their_room(room: int, answer: bytes, reason: str) -> None:
    each = [Outcome.answered(answer, room), Outcome.refused(reason, room), Outcome.not_released(room)]
    said = [json.loads(one.to_json()) for one in each]
    assert [sorted(one) for one in said] == [["answer", "text", "told"]] * 3
    assert [one["told"] for one in said] == [told.value for told in Told]
    assert [one["answer"] for one in said] == [json.loads(answer), None, None]
    assert said[1]["text"] == reason
    assert {len(one.to_json()) for one in each} == {room}


@given(st.integers(1, 200), st.binary(max_size=2000))
def test_what_is_longer_takes_the_room_twice_as_often_as_needed(room: int, garbage: bytes) -> None:
    length = len(Outcome.answered(json.dumps(garbage.hex()).encode(), room).to_json())
    times = length // room
    assert length == times * room
    assert times & (times - 1) == 0
    assert length >= len(garbage)


def test_the_texts_are_one_each() -> None:
    assert Outcome.answered(b"1", 9).text == Outcome.answered(b"2", 9).text
    assert "deadline" in Outcome.not_released(9).text
