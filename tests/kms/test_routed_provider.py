"""Several KEKs behind one seam: one wraps, each opens what it wrapped, and one that nobody has is told by its name."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import CannotUnwrapError, UnavailableError
from kms.provider import KeyProvider, Opens, Wrapped
from kms.routed_provider import RoutedProvider
from kms.secret import SecretKey
from tests.kms.scripted_provider import ScriptedProvider

KEY = SecretKey(bytes(range(32)))


class Claiming(ScriptedProvider):
    """One that says how sure it is, whatever it is asked."""

    def __init__(self, kek: bytes, claim: Opens) -> None:
        super().__init__(kek)
        self.claim = claim

    def opens(self, kek: str) -> Opens:
        return self.claim


def three() -> list[ScriptedProvider]:
    return [ScriptedProvider(bytes([number] * 32)) for number in range(3)]


def test_the_first_wraps_and_all_unwrap() -> None:
    providers = three()
    routed = RoutedProvider(*providers)
    assert routed.wrap(KEY, b"").kek == providers[0].wrap(KEY, b"").kek
    assert routed.unwrap([(p.wrap(KEY, b"place"), b"place") for p in providers]) == [KEY] * 3
    assert routed.unwrap([]) == []


@given(order=st.lists(st.integers(0, 2), max_size=20))
def test_keys_come_back_in_order_by_one_call_a_provider(order: list[int]) -> None:
    providers = three()
    keys = [SecretKey(bytes([index] * 32)) for index in range(len(order))]
    wrapped = [(providers[who].wrap(key, b"%d" % who), b"%d" % who) for who, key in zip(order, keys, strict=True)]
    assert RoutedProvider(*providers).unwrap(wrapped) == keys
    assert [p.batches for p in providers] == [[order.count(who)] if who in order else [] for who in range(3)]


def test_an_outage_of_one_is_an_outage() -> None:
    one, other, _ = three()
    other.fail = UnavailableError("down")
    routed = RoutedProvider(one, other)
    assert routed.unwrap([(one.wrap(KEY, b""), b"")]) == [KEY]
    with pytest.raises(UnavailableError, match="down"):
        routed.unwrap([(one.wrap(KEY, b""), b""), (other.wrap(KEY, b""), b"")])


def test_a_kek_that_nobody_has_is_named_with_what_to_do() -> None:
    one, other, stranger = three()
    wrapped = stranger.wrap(KEY, b"")
    for routed in (RoutedProvider(one), RoutedProvider(one, other)):
        with pytest.raises(
            CannotUnwrapError, match=rf"wrapped by {wrapped.kek}, which is none .* kek_former"
        ) as raised:
            routed.unwrap([(one.wrap(KEY, b""), b""), (wrapped, b"")])
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_what_nobody_claims_is_tried_with_the_first_that_may_have_been_renamed() -> None:
    renamed = Claiming(bytes(32), Opens.NO)
    assert RoutedProvider(renamed).unwrap([(renamed.wrap(KEY, b""), b"")]) == [KEY]


def test_who_is_surer_is_asked_and_of_two_the_first() -> None:
    never, maybe, certain, also = (
        Claiming(bytes(32), claim) for claim in (Opens.NO, Opens.PERHAPS, Opens.SURELY, Opens.SURELY)
    )
    assert RoutedProvider(never, maybe, certain, also).provider_of("k") is certain
    assert RoutedProvider(maybe, never).provider_of("k") is maybe
    assert RoutedProvider(never).provider_of("k") is None


class Plain:
    """A provider of somebody else's, which cannot tell."""

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return Wrapped(key.raw, "plain", "1")

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        return [SecretKey(one.ciphertext) for one, _ in wrapped]


def test_one_that_cannot_tell_is_asked_where_no_other_is_sure() -> None:
    plain: KeyProvider = Plain()
    (one, *_) = three()
    routed = RoutedProvider(plain, one)
    assert routed.unwrap([(plain.wrap(KEY, b""), b""), (one.wrap(KEY, b""), b"")]) == [KEY, KEY]


def test_more_can_be_put_behind_one_that_is_routed() -> None:
    one, two, three_ = three()
    routed = RoutedProvider.of(RoutedProvider(one, two), three_)
    assert (routed.first, routed.formers) == (one, (two, three_))
