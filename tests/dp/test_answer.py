import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.answer import FORMAT, Answer, GroupAnswer, NoiseScale, PartValue
from dp.caps import Caps
from dp.errors import AnswerFormatError
from tests.sizes import sized
from tests.vectors.write_answer_vectors import vectors

FRACTIONS = st.fractions()
NANO = st.integers(1, 10**18)
NOISE = st.builds(NoiseScale, st.text(), FRACTIONS, NANO) | st.builds(NoiseScale, st.text(), FRACTIONS, st.none(), NANO)
ANSWERS = st.builds(
    Answer,
    question=st.text(),
    nano_epsilon=st.none() | NANO,
    nano_rho=st.none() | NANO,
    atto_delta=st.integers(0, 10**18 - 1),
    mechanism=st.text(),
    interval_label=st.text(),
    caps=st.builds(Caps, st.integers(1, 9), st.integers(1, 9)),
    noise=st.lists(NOISE, max_size=3).map(tuple),
    groups=st.lists(
        st.builds(
            GroupAnswer,
            st.integers(0, 99),
            FRACTIONS,
            st.tuples(FRACTIONS, FRACTIONS),
            st.lists(st.builds(PartValue, st.text(), FRACTIONS), max_size=2).map(tuple),
            st.none() | st.binary(max_size=9),
        ),
        max_size=4,
    ).map(tuple),
)
ONE = Answer("count(*)", 10**9, Caps(2), (NoiseScale("count", Fraction(2), 10**9),), (GroupAnswer(0, Fraction(-3), (Fraction(-9), Fraction(3))),))  # fmt: skip  # noqa: E501


@given(answer=ANSWERS)
@settings(deadline=None, max_examples=sized(40, 1_000))
def test_an_answer_is_read_back_exactly(answer: Answer) -> None:
    stored = answer.to_json()
    assert Answer.from_json(stored) == answer
    assert Answer.from_json(stored).to_json() == stored


def test_the_stored_form_is_this() -> None:
    """As it was from the first one on, so that what a ledger has stored is read."""
    assert ONE.to_json() == (
        b'{"caps":{"groups":1,"rows":2},"delta":0,"format":"noisevault/1 answer","groups":[[0,"-3/1","-9/1","3/1",[]]],'
        b'"interval":"noise only, 95 %","mechanism":"discrete Laplace","nano_epsilon":1000000000,'
        b'"noise":[["count","2/1",1000000000]],"question":"count(*)"}'
    )


def test_of_gaussian_noise_rho_stands_beside_and_of_an_undeclared_group_its_key() -> None:
    noise = (NoiseScale("units", Fraction(2), None, 5),)
    groups = (GroupAnswer(0, Fraction(3), (Fraction(1), Fraction(5)), key=b"\xffa"),)
    assert Answer("q", None, Caps(1), noise, groups, "discrete Gaussian", 7, "label", 5).to_json() == (
        b'{"caps":{"groups":1,"rows":1},"delta":7,"format":"noisevault/1 answer",'
        b'"groups":[[0,"3/1","1/1","5/1",[],"ff61"]],"interval":"label","mechanism":"discrete Gaussian",'
        b'"nano_epsilon":null,"nano_rho":5,"noise":[["units","2/1",null,5]],"question":"q"}'
    )


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"{", b'"x"', b"[" * 100_000, b"1" * 5000,
        ONE.to_json() + b"\n",
        ONE.to_json().replace(b"2/1", b"4/2"),
        ONE.to_json().replace(b"2/1", b"2"),
        ONE.to_json().replace(b"2/1", b"2/0"),
        ONE.to_json().replace(b'"rows":2', b'"rows":0'),
        ONE.to_json().replace(b'"rows":2', b'"rows":2.0'),
        ONE.to_json().replace(b'"delta":0', b'"delta":0, "more":1'),
        ONE.to_json().replace(FORMAT.encode(), b"noisevault/2 answer"),
        ONE.to_json().replace(b"count(*)", "é".encode()),
        ONE.to_json().replace(b'"noise"', b'"nano_rho":null,"noise"'),
        ONE.to_json().replace(b",[]]", b',[],"zz"]'),
        ONE.to_json().replace(b",[]]", b',[],"FF"]'),
        ONE.to_json().replace(b",[]]", b",[],null]"),
        ONE.to_json().replace(b"1000000000]]", b"1000000000,null]]"),
        ONE.to_json().replace(b"1000000000]]", b"1000000000,5,6]]"),
        json.dumps(json.loads(ONE.to_json())).encode(),
    ],
)  # fmt: skip
def test_other_bytes_are_refused(stored: bytes) -> None:
    with pytest.raises(AnswerFormatError):
        Answer.from_json(stored)


def test_an_answer_says_how_it_was_made() -> None:
    assert (ONE.mechanism, ONE.atto_delta, ONE.interval_label) == ("discrete Laplace", 0, "noise only, 95 %")


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "answer.json").read_text())["tests"]


@pytest.mark.parametrize("test", VECTORS, ids=lambda test: test["comment"])
def test_the_published_vectors(test: dict[str, Any]) -> None:
    stored = test["stored"].encode()
    if test["result"] == "invalid":
        with pytest.raises(AnswerFormatError):
            Answer.from_json(stored)
        return
    answer, members = Answer.from_json(stored), test["members"]
    assert answer.to_json() == stored
    assert (answer.question, answer.nano_epsilon) == (members["question"], members["nano_epsilon"])
    assert (answer.atto_delta, answer.nano_rho) == (members.get("delta", 0), members.get("nano_rho"))
    assert answer.caps == Caps(**members["caps"])
    assert [(n.part, n.scale, n.nano_epsilon, n.nano_rho) for n in answer.noise] == [
        (part, Fraction(scale), epsilon, rho[0] if rho else None) for part, scale, epsilon, *rho in members["noise"]
    ]
    assert [(g.group, str(g.value), g.key and g.key.hex()) for g in answer.groups] == [
        (group, value.removesuffix("/1"), key[0] if key and key[0] else b"" if key else None)
        for group, value, _, _, _, *key in members["groups"]
    ]


def test_the_vectors_are_what_their_script_writes() -> None:
    assert vectors()["tests"] == VECTORS
