import pytest
from pydantic import ValidationError

from vault.policy.section import Section


class Sized(Section):
    size: int


def test_a_section_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Sized(size=1).size = 2


@pytest.mark.parametrize("given", [{"size": True}, {"size": "1"}, {"size": 1.0}, {"size": 1, "sizes": 2}, {}])
def test_a_section_takes_what_it_declares_and_nothing_that_looks_like_it(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        Sized.model_validate(given)
    assert "input_value" not in str(caught.value)
