from dataclasses import replace

import pytest

from vault.definitions.definition import FieldDefinition
from vault.definitions.drift import own_indexes, refuse_drift, refuse_unsafe_step
from vault.definitions.row_context import BoundColumn
from vault.errors import DefinitionChangedError
from vault.normalise import digits
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
BARE = replace(NAME, indexes=())
PERSON = (BoundColumn("person", "int64/1"),)


def test_the_same_definition_is_no_drift() -> None:
    refuse_drift(NAME, FieldDefinition("patients", "name", "str/1", (), [BlindIndex()]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("recorded", "declared", "says"),
    [
        (BARE, replace(BARE, codec="bytes/1"), "codec recorded str/1, declared bytes/1.*generation=1.*reencrypt"),
        (BARE, replace(BARE, bound=PERSON), "bound columns recorded none, declared person as int64/1.*reencrypt"),
        (
            NAME,
            BARE,
            r"indexes recorded bidx \(exact/1, 256 bits\), declared none.*generation=1 and run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(digits),)),
            r"declared bidx \(digits/1, 256 bits\).*run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(bits=20),)),
            r"declared bidx \(exact/1, 20 bits\).*run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(scope="who"),)),
            r"declared bidx \(exact/1, 256 bits, shared as who\).*run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(last_four, keyring="all", slow=True),)),
            r"declared bidx \(last4/1, 256 bits, in keyring all, slow by Argon2id.*run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(slow=True),)),
            r"declared bidx \(exact/1, 256 bits, slow by Argon2id\(memory_kib=19456.*run: noisevault reindex",
        ),
        (
            NAME,
            replace(NAME, indexes=(BlindIndex(), BlindIndex(last_four, name="last4"))),
            r"declared bidx \(exact/1, 256 bits\), last4 \(last4/1, 256 bits\).*run: noisevault reindex",
        ),
    ],
)
def test_a_difference_is_named_with_what_to_run(
    recorded: FieldDefinition, declared: FieldDefinition, says: str
) -> None:
    with pytest.raises(
        DefinitionChangedError, match=f"^patients.name is not defined as its data was written: .*{says}"
    ):
        refuse_drift(recorded, declared)


def test_a_new_generation_may_change_what_reencryption_moves() -> None:
    refuse_unsafe_step(BARE, replace(BARE, codec="bytes/1", generation=1))
    refuse_unsafe_step(NAME, replace(NAME, bound=PERSON, generation=1))


@pytest.mark.parametrize(
    ("declared", "remedy"),
    [
        (
            replace(NAME, indexes=(), generation=1),
            r"run this first, which records it: noisevault reindex patients\.name",
        ),
        (replace(NAME, codec="bytes/1", generation=1), "declare a new column"),
    ],
)
def test_a_new_generation_may_not_leave_terms_behind(declared: FieldDefinition, remedy: str) -> None:
    with pytest.raises(DefinitionChangedError, match=remedy):
        refuse_unsafe_step(NAME, declared)


def test_how_a_shared_index_works_is_its_scopes_to_say() -> None:
    shared = replace(NAME, indexes=(BlindIndex(scope="who"),))
    refuse_unsafe_step(shared, replace(shared, indexes=(BlindIndex(digits, bits=64, scope="who"),), generation=1))
    assert own_indexes(shared) == (BlindIndex(scope="who"),)


def test_padding_is_another_generation_and_leaves_no_terms_behind() -> None:
    padded = replace(NAME, codec="str/1+pad64")
    with pytest.raises(DefinitionChangedError, match=r"declared str/1\+pad64.*declare generation=1 and run"):
        refuse_drift(NAME, padded)
    refuse_unsafe_step(NAME, replace(padded, generation=1))
    refuse_unsafe_step(padded, replace(NAME, generation=1))
    refuse_unsafe_step(padded, replace(NAME, codec="str/1+fix256", generation=1))
