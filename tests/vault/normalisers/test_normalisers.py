import pytest

from vault.errors import DefinitionError
from vault.normalise import Normaliser
from vault.normalisers import NORMALISER_IDS, normaliser_named


@pytest.mark.parametrize("normaliser_id", NORMALISER_IDS)
def test_each_is_had_by_its_id(normaliser_id: str) -> None:
    assert normaliser_named(normaliser_id).id == normaliser_id


def test_one_that_is_not_registered_says_how() -> None:
    with pytest.raises(DefinitionError, match=r"call register_normaliser\(\) before a field names it"):
        normaliser_named("acme.unheard/1")


def test_a_normaliser_is_its_id() -> None:
    assert Normaliser("exact/1", str) == normaliser_named("exact/1")
