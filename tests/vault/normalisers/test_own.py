from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.errors import DefinitionError, InvalidValueError
from vault.field import Field
from vault.normalisers import normaliser_named
from vault.normalisers.own import register_normaliser
from vault.terms.term import BlindIndex


def plate(text: str) -> str:
    if not text:
        raise ValueError(f"an empty plate, not {text!r}")
    return text.replace(" ", "").upper()


PLATE = register_normaliser("acme.plate", 1, plate)


def field(index: BlindIndex, codec: str = "str/1") -> Field:
    keyring: Any = FixedKeyring({b"data": bytes(32)}, {b"idx1": bytes(range(32))})
    return Field(FieldDefinition("cars", "plate", codec, indexes=(index,)), keyring)


def test_an_own_normaliser_decides_what_is_one_value_and_is_recorded_by_its_id() -> None:
    cars = field(BlindIndex(PLATE))
    assert cars.terms("ab 12 cd") == cars.terms("AB12CD") != cars.terms("AB12CE")
    assert '"normaliser":"acme.plate/1"' in cars.definition.canonical_json()
    assert FieldDefinition.from_json(cars.definition.canonical_json()) == cars.definition


def test_what_its_rule_raises_shows_nothing_of_the_value() -> None:
    with pytest.raises(InvalidValueError, match=r"acme.plate/1 does not take this str \(ValueError\)") as refusal:
        field(BlindIndex(PLATE)).terms("")
    assert refusal.value.__context__ is None
    assert refusal.value.__cause__ is None


def test_a_rule_that_gives_no_text_is_refused() -> None:
    broken: Any = register_normaliser("acme.broken", 1, len)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="it gave int and not str"):
        field(BlindIndex(broken)).terms("x")


def test_a_partial_one_of_another_codec() -> None:
    decade = register_normaliser("acme.decade", 1, _decade, codecs=["int64/1"], partial=True)
    ages = field(BlindIndex(decade), "int64/1")
    assert ages.terms(41) == ages.terms(49) != ages.terms(50)
    assert ages.terms(-1) == {"plate_bidx_a": None, "plate_bidx_b": None}
    assert ages.asked_term("bidx", 40) == ages.terms(44)["plate_bidx_a"]
    with pytest.raises(InvalidValueError, match="no part"):
        ages.asked_term("bidx", -3)
    with pytest.raises(DefinitionError, match=r"acme\.decade/1 is for int64/1, the field is str/1"):
        field(BlindIndex(decade))


def _decade(age: int) -> str | None:
    return None if age < 0 else str(age // 10)


def test_a_name_is_registered_once() -> None:
    assert register_normaliser("acme.plate", 1, plate) is PLATE is normaliser_named("acme.plate/1")
    with pytest.raises(DefinitionError, match=r"another normaliser is registered as acme\.plate/1"):
        register_normaliser("acme.plate", 1, str.upper)


@pytest.mark.parametrize(
    ("name", "number"), [("plate", 1), ("Acme.plate", 1), ("acme.", 1), ("acme.plate", 0), ("acme.plate", True)]
)
def test_a_name_has_a_dot_and_a_version(name: Any, number: Any) -> None:
    with pytest.raises(DefinitionError, match=r"with a dot|from 1 to 9999"):
        register_normaliser(name, number, plate)


def test_codecs_are_a_list() -> None:
    with pytest.raises(DefinitionError, match="list of codec ids"):
        register_normaliser("acme.other", 1, plate, codecs="str/1")
