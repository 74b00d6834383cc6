"""What an operator says with a change."""

import pytest

from dp.errors import ParameterError
from dp.ledger.errors import SoftLimitError
from dp.ledger.limits.consent import SOFT_LIMIT_NANO, Consent

ABOVE = SOFT_LIMIT_NANO + 1
NO_REASON, REASON, ACCEPTED = Consent(), Consent("why"), Consent("why", accepted=True)


@pytest.mark.parametrize(
    ("before", "after", "consent", "warnings"),
    [
        (None, SOFT_LIMIT_NANO, NO_REASON, 0),
        (None, ABOVE, NO_REASON, 1),
        (1, SOFT_LIMIT_NANO, REASON, 0),
        (1, ABOVE, ACCEPTED, 1),
        (ABOVE + 1, ABOVE, REASON, 1),
        (ABOVE, ABOVE, REASON, 1),
        (1, 5, Consent("why", soft_limit_nano=5), 0),
        (1, 6, Consent("why", accepted=True, soft_limit_nano=5), 1),
    ],
)
def test_what_is_above_the_soft_limit_is_warned_of(
    before: int | None, after: int, consent: Consent, warnings: int
) -> None:
    assert len(consent.require("dataset 'people'", before, after)) == warnings


@pytest.mark.parametrize(("before", "after"), [(1, ABOVE), (ABOVE, ABOVE + 1)])
def test_raising_it_past_the_soft_limit_must_be_accepted(before: int, after: int) -> None:
    with pytest.raises(SoftLimitError, match=r"dataset 'people' would cost .* up to epsilon 10\.\d+ a year, above 10:"):
        REASON.require("dataset 'people'", before, after)


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_change_has_a_reason(reason: str) -> None:
    with pytest.raises(ParameterError, match=r"^reason: dataset 'people' was declared before; say why"):
        Consent(reason, accepted=True).require("dataset 'people'", 2, 1)


def test_a_reason_is_text_that_can_be_stored() -> None:
    with pytest.raises(ParameterError, match=r"^reason: "):
        Consent("\ud83d")
