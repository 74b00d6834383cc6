"""Each entry is signed and follows the one before; keys are looked up once."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.errors import AuditError
from dp.ledger.canonical_json import canonical
from dp.ledger.log.audit import FORMAT, AuditHead
from dp.ledger.verifying.chain import Chain
from tests.dp.ledger.sealing import AuditKeys, HmacKey

Signed = tuple[int, bytes, str, str]


def a_log(length: int, keys: AuditKeys) -> list[Signed]:
    """Entries as AuditLog writes them; the key rotates at every third."""
    log: list[Signed] = []
    for sequence in range(1, length + 1):
        if sequence % 3 == 0:
            keys.rotate()
        mac, previous = keys.newest(), log[-1][3] if log else ""
        entry = {"sequence": sequence, "previous": previous, "key": mac.key_id.hex(), "kind": "x", "format": FORMAT}
        signed = canonical({**entry, "at": sequence})
        log.append((sequence, signed, mac.key_id.hex(), mac.compute(signed).hex()))
    return log


@settings(deadline=None)
@given(length=st.integers(1, 12), data=st.data())
def test_whatever_is_not_the_next_entry_is_named(length: int, data: st.DataObject) -> None:
    keys = AuditKeys()
    log = a_log(length, keys)
    chain = Chain(keys)
    for entry in log:
        assert chain.follow(*entry)["sequence"] == entry[0]
    assert chain.last == AuditHead(length, log[-1][3])

    number = data.draw(st.integers(1, length))
    sequence, signed, key_id, mac = log[number - 1]
    changed = data.draw(
        st.sampled_from(
            [
                (sequence + 1, signed, key_id, mac),
                (sequence, signed + b" ", key_id, mac),
                (sequence, signed, "00", mac),
                (sequence, signed, key_id.upper() + "f", mac),
                (sequence, signed, key_id, mac[:-1]),
                (sequence, signed, key_id, None),
                (sequence, signed, None, mac),
                (sequence, *log[number % length][1:]) if length > 1 else (sequence, b"{", key_id, mac),
            ]
        )
    )
    chain = Chain(keys)
    for entry in log[: number - 1]:
        chain.follow(*entry)
    with pytest.raises(AuditError, match=f"^audit entry {number} "):
        chain.follow(*changed)
    assert chain.last.sequence == number - 1


def test_a_key_is_derived_once_for_the_whole_log() -> None:
    asked = []

    class Counted(AuditKeys):
        def by_id(self, key_id: bytes) -> HmacKey:
            asked.append(key_id)
            return super().by_id(key_id)

    keys = Counted()
    log = a_log(9, keys)
    chain = Chain(keys)
    for entry in log:
        chain.follow(*entry)
    assert len(asked) == len(set(asked)) == 4


def test_an_entry_that_was_parsed_before_is_checked_all_the_same() -> None:
    keys = AuditKeys()
    (first, second) = a_log(2, keys)
    entry = json.loads(first[1])
    with pytest.raises(AuditError, match="audit entry 1 was changed"):
        Chain(keys).follow(*first[:3], second[3], entry)
    with pytest.raises(AuditError, match="audit entry 1 was changed"):
        Chain(keys).follow(first[0], first[1] + b" ", *first[2:], entry)
    chain = Chain(keys)
    assert chain.follow(*first, entry) is entry
    with pytest.raises(AuditError, match="audit entry 2 is another one"):
        chain.follow(*second, entry)
