from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.answer import Answer
from dp.bounding import Bounded
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.noise.random_source import OperatingSystemRandom
from dp.partial import Partial
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates, release, release_by
from dp.questions.undeclared_groups import Keyed, UndeclaredGroups
from tests.dp.questions.replay import loss_between
from tests.dp.rows import SALT
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

PRICE = Price.approximate(10**9, 10**12)
KEYS = st.sampled_from([b"", b"a", b"a\0", b"b", b"\xff\xfe", "Žluťoučký".encode(), b"a" * 50])
ROWS = st.lists(st.tuples(st.integers(0, 5), KEYS, st.integers(0, 2**64 - 1)), max_size=40)
Told = list[tuple[int, bytes, int]]


def keyed_chunk(rows: Told, spare: tuple[bytes, ...] = ()) -> Chunk:
    """spare: keys that this chunk knows and no row has."""
    keys = (*spare, *dict.fromkeys(key for _, key, _ in reversed(rows)))
    return Chunk(
        np.array([unit for unit, _, _ in rows], dtype=np.int64),
        np.array([keys.index(key) for _, key, _ in rows], dtype=np.int32),
        np.array([tie for _, _, tie in rows], dtype=np.uint64),
        keys=keys,
    )


def keyed(question: UndeclaredGroups, *parts: Told) -> Keyed:
    return question.aggregate(question.bound([keyed_chunk(part) for part in parts], SALT))


def assert_private(question: UndeclaredGroups, rows: Told, price: Price = PRICE) -> None:
    for unit in sorted({unit for unit, _, _ in rows}):
        whole, without = keyed(question, rows), keyed(question, [row for row in rows if row[0] != unit])
        assert loss_between(question, whole, without, price).is_within(price)
        assert loss_between(question, without, whole, price).is_within(price)


@given(rows=ROWS, k=st.integers(1, 4))
@settings(deadline=None)
def test_each_unit_counts_once_in_each_key_and_in_no_more_keys_than_its_cap(rows: Told, k: int) -> None:
    counted = keyed(UndeclaredGroups(Caps(1, k)), rows)
    of_unit = defaultdict(set)
    for unit, key, _ in rows:
        of_unit[unit].add(key)
    assert sum(counted.totals[0]) == sum(min(k, len(keys)) for keys in of_unit.values())
    assert all(counted.totals[0])
    assert list(counted.keys) == sorted(set(counted.keys))
    if k == 4 and all(len(keys) <= 4 for keys in of_unit.values()):
        assert dict(zip(counted.keys, counted.totals[0], strict=True)) == Counter(
            key for keys in of_unit.values() for key in keys
        )


@given(rows=ROWS, k=st.integers(1, 3), cuts=st.lists(st.integers(0, 40), max_size=4), as_bytes=st.booleans())
@settings(deadline=None)
def test_the_split_and_the_order_of_rows_and_keys_change_nothing(
    rows: Told, k: int, cuts: list[int], as_bytes: bool
) -> None:
    question = UndeclaredGroups(Caps(1, k))
    whole = keyed(question, rows)
    ends = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    pieces = [rows[a:b][::-1] for a, b in pairwise(ends)]
    assert keyed(question, *pieces) == whole
    parts = [question.part([keyed_chunk(piece, spare=(b"nobody", b"b"))], SALT) for piece in pieces]
    if as_bytes:
        parts = [Partial.from_bytes(part.to_bytes()) for part in parts]
    assert question.aggregate(question.bound(reversed(parts), SALT)) == whole


@given(rows=ROWS, k=st.integers(1, 3), nano=st.sampled_from([10**8, 10**9, 5 * 10**9]))
@settings(deadline=None, max_examples=sized(40, 2_000))
def test_by_record_and_replay_no_unit_loses_more_than_the_price(rows: Told, k: int, nano: int) -> None:
    assert_private(UndeclaredGroups(Caps(1, k)), rows, Price.approximate(nano, 10**12))


class LowThreshold(UndeclaredGroups):
    """Broken: off by one."""

    __slots__ = ()

    def threshold(self, price: Price) -> int:
        return UndeclaredGroups.threshold(self, price) - 1


class RowsCounted(UndeclaredGroups):
    """Broken: counts rows and not units."""

    __slots__ = ()

    def bound(self, chunks: object, salt: bytes) -> object:  # type: ignore[override]
        several = list(chunks)  # type: ignore[call-overload]
        return UndeclaredGroups.bound(
            self, [Chunk(np.arange(len(c)), c.group, c.tie, keys=c.keys) for c in several], salt
        )


class AllKeys(UndeclaredGroups):
    """Broken: keeps as many keys of a unit as it has."""

    __slots__ = ()

    def bound(self, chunks: object, salt: bytes) -> object:  # type: ignore[override]
        return UndeclaredGroups(Caps(1, 9)).bound(chunks, salt)  # type: ignore[arg-type]


class KnownKeys(UndeclaredGroups):
    """Broken: gives noise to keys that no unit has, because they stood in a chunk's list."""

    __slots__ = ()

    def aggregate(self, bounded: object) -> Keyed:
        sound = UndeclaredGroups.aggregate(self, bounded)  # type: ignore[arg-type]
        return Keyed(((*sound.totals[0], 0),), (*sound.keys, b"zzz"))


OWN: Told = [(unit, b"own %d %d" % (unit, n), n) for unit in range(2) for n in (0, 1, 1, 1)]
SHARED: Told = [(unit, b"%d" % n, n) for unit in range(3) for n in range(4)]


@pytest.mark.parametrize(
    ("broken", "rows"),
    [
        (LowThreshold(Caps(1, 2)), OWN),
        (RowsCounted(Caps(1)), OWN),
        (AllKeys(Caps(1, 2)), SHARED),
        (KnownKeys(Caps(1)), OWN),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_a_broken_question_is_caught(broken: UndeclaredGroups, rows: Told) -> None:
    assert_private(UndeclaredGroups(broken.caps), rows)
    with pytest.raises(AssertionError):
        assert_private(broken, rows)


def test_k20_01_a_rare_surname_is_never_listed() -> None:
    rows = [(person, b"Smith" if person % 2 else b"Jones", person) for person in range(999)] + [(999, b"Zyxwv", 999)]
    question = UndeclaredGroups(Caps(1))
    aggregates, mechanisms = keyed(question, rows), RandomMechanisms(OperatingSystemRandom())
    for _ in range(sized(200, 1_000)):
        answer = release_by(question, "", aggregates, PRICE, mechanisms)
        assert [group.key for group in answer.groups] == [b"Jones", b"Smith"]


def test_a_key_of_one_unit_is_told_as_often_as_delta_says() -> None:
    """With a delta that can be seen: a**(T-1) / (1+a) a key."""
    price, runs = Price.approximate(10**9, 10**17), sized(8_000, 1_000_000)
    question = UndeclaredGroups(Caps(1))
    assert question.threshold(price) == 3
    shown = exp(-2) / (1 + exp(-1))
    lone = Keyed(((1,) * runs,), tuple(b"%d" % n for n in range(runs)))
    told = len(release(question, "", lone, price).groups)
    assert abs(told / runs - shown) < 5 * (shown / runs) ** 0.5
    assert shown < 0.1


def test_an_answer_names_the_keys_and_keeps_what_it_cost() -> None:
    question = UndeclaredGroups(Caps(1, 2))
    answer = release_by(question, "units by city", Keyed(((500, 1, 800),), (b"", b"b", b"\xff")), PRICE, RandomMechanisms(SeededRandom(1)))  # fmt: skip  # noqa: E501
    assert [(group.group, group.key) for group in answer.groups] == [(0, b""), (1, b"\xff")]
    assert (answer.nano_epsilon, answer.atto_delta, answer.nano_rho) == (10**9, 10**12, None)
    assert answer.noise[0].scale == 2
    assert answer.mechanism == f"discrete Laplace, told from {question.threshold(PRICE)} on"
    assert Answer.from_json(answer.to_json()) == answer


def test_without_rows_nothing_is_told() -> None:
    question = UndeclaredGroups(Caps(1))
    for chunks in ([], [keyed_chunk([], spare=(b"a",))]):
        assert release(question, "", question.aggregate(question.bound(chunks, SALT)), PRICE).groups == ()


def test_a_key_that_no_row_has_is_not_counted_wherever_it_comes_from() -> None:
    bounded = Bounded(np.array([0, 2, 2], dtype=np.int32), None, (b"a", b"nobody", b"z"))
    assert UndeclaredGroups(Caps(1)).aggregate(bounded) == Keyed(((1, 2),), (b"a", b"z"))


def test_keys_do_not_show_themselves() -> None:
    rows: Told = [(1, b"secret", 1)]
    question = UndeclaredGroups(Caps(1))
    chunk = keyed_chunk(rows)
    for holder in (chunk, question.part([chunk], SALT), question.bound([chunk], SALT), keyed(question, rows)):
        assert "secret" not in repr(holder)


@pytest.mark.parametrize("price", [Price.pure(10**9), Price.gaussian(10**9), None])
def test_without_a_delta_it_is_refused(price: Price) -> None:
    with pytest.raises(ParameterError, match=r"^price: "):
        UndeclaredGroups(Caps(1)).noise(price)


def test_a_unit_counts_once() -> None:
    with pytest.raises(ParameterError, match=r"^caps\.rows: "):
        UndeclaredGroups(Caps(2))


def test_chunks_with_keys_are_for_this_question_and_others_are_not() -> None:
    with_keys, rows = keyed_chunk([(1, b"a", 1)]), np.zeros(1, dtype=np.int64)
    without = Chunk(rows, rows.astype(np.int32), rows.astype(np.uint64))
    with pytest.raises(ParameterError, match=r"^keys: .*has no keys"):
        UndeclaredGroups(Caps(1)).bound([without], SALT)
    with pytest.raises(ParameterError, match=r"^keys: .*keys of others"):
        Count(Caps(1)).bound([with_keys], SALT)
    mixed = [Count(Caps(1)).part([without], SALT), UndeclaredGroups(Caps(1)).part([with_keys], SALT)]
    with pytest.raises(ParameterError, match=r"^keys: "):
        UndeclaredGroups(Caps(1)).bound(mixed, SALT)
    with pytest.raises(ParameterError, match=r"^aggregates: "):
        UndeclaredGroups(Caps(1)).release(Aggregates(((1,),)), PRICE, RandomMechanisms(SeededRandom(1)))


def test_the_scale_is_computed_from_the_very_integer_that_is_charged() -> None:
    assert UndeclaredGroups(Caps(1, 3)).noise(Price.approximate(7, 1))[0].scale == Fraction(3 * 10**9, 7)
