import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dp.tie_break import group_hash, integer_row_ties, key_words, row_ties, unit_hash, unit_words

INT64 = st.integers(-(2**63), 2**63 - 1)
KEYS = st.lists(INT64, unique=True, max_size=30)


@given(keys=KEYS, salt=st.binary(max_size=20))
def test_different_integer_keys_never_tie(keys: list[int], salt: bytes) -> None:
    assert len(set(integer_row_ties(salt, np.array(keys, dtype=np.int64)).tolist())) == len(keys)


@given(keys=st.lists(st.tuples(INT64, INT64), unique=True, max_size=30), salt=st.binary(max_size=20))
def test_a_key_of_two_integers_has_the_tie_of_both_in_their_order(keys: list[tuple[int, int]], salt: bytes) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*keys, strict=True)] or [np.empty(0, np.int64)] * 2
    ties = integer_row_ties(salt, *columns).tolist()
    assert len(set(ties)) == len(keys), "two of these at most may share one in 2**64"
    for (one, two), tie in zip(keys, ties, strict=True):
        assert integer_row_ties(salt, np.array([one]), np.array([two])).tolist() == [tie]
        assert one == two or integer_row_ties(salt, np.array([two]), np.array([one])).tolist() != [tie]


@given(keys=st.lists(st.binary(max_size=40), max_size=20), salt=st.binary(max_size=100))
def test_a_row_has_the_tie_of_its_own_key_alone(keys: list[bytes], salt: bytes) -> None:
    ties = row_ties(salt, keys).tolist()
    assert ties == [int(row_ties(salt, [key])[0]) for key in keys]


def test_another_salt_is_another_order() -> None:
    keys = np.arange(1000)
    first, second = integer_row_ties(b"a", keys), integer_row_ties(b"b", keys)
    assert not (first == second).any()
    assert (np.argsort(first) != np.argsort(second)).any()
    assert row_ties(b"a", [b"k"]) != row_ties(b"b", [b"k"])


def test_ties_do_not_follow_the_keys() -> None:
    ties = integer_row_ties(b"salt", np.arange(100_000)).astype(np.float64)
    assert abs(np.corrcoef(np.arange(100_000), ties)[0, 1]) < 0.02
    assert abs((ties < 2.0**63).mean() - 0.5) < 0.01


def test_equal_units_have_equal_words_whatever_their_width() -> None:
    narrow, wide = np.array([b"ab", b"cd"], dtype="S2"), np.array([b"ab", b"cd"], dtype="S8")
    assert (unit_words(narrow) == unit_words(wide)).all()
    assert unit_words(np.array([b"x" * 37], dtype="S37")).shape == (1, 5)
    assert unit_words(np.empty(0, dtype="S32")).shape == (0, 4)
    assert unit_words(np.arange(6)[::2]).tolist() == [[0], [2], [4]]


def test_bytes_that_end_in_zeros_are_units_of_their_own() -> None:
    units = np.array([b"a" * 31 + b"\0", b"a" * 31 + b"b", b"a" * 30 + b"\0\0"], dtype="S32")
    assert len({tuple(words) for words in unit_words(units).tolist()}) == 3


def test_zero_words_at_the_end_of_a_unit_do_not_change_its_hash() -> None:
    words = unit_words(np.arange(100))
    longer = np.pad(words, ((0, 0), (0, 3)))
    assert (unit_hash(b"salt", words) == unit_hash(b"salt", longer)).all()
    assert len(set(unit_hash(b"salt", words).tolist())) == 100


def test_a_unit_chooses_its_groups_for_itself() -> None:
    units = unit_hash(b"salt", unit_words(np.arange(3000)))
    first, second = (group_hash(b"salt", units, np.full(3000, group, dtype=np.int32)) for group in (0, 1))
    assert 0.4 < (first < second).mean() < 0.6


@given(keys=st.lists(st.binary(max_size=40), unique=True, max_size=20), salt=st.binary(max_size=100))
def test_a_key_that_nobody_declared_has_a_word_of_its_own(keys: list[bytes], salt: bytes) -> None:
    words = key_words(salt, keys).tolist()
    assert words == [int(key_words(salt, [key])[0]) for key in keys]
    assert len(set(words)) == len(keys)
    assert not set(words) & set(row_ties(salt, keys).tolist())
