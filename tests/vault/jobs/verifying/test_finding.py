import pytest

from vault.errors import (
    CannotOpenError,
    DestroyedKeyError,
    FieldError,
    NotSealedError,
    RetiredKeyError,
    RowBindingError,
    UnknownGenerationError,
    UnknownKeyError,
)
from vault.jobs.change import Failed
from vault.jobs.verifying.finding import Finding, FindingKind, kind_of

KINDS = [
    (NotSealedError("r"), FindingKind.NOT_SEALED),
    (DestroyedKeyError("t", "c", "00000001"), FindingKind.DESTROYED_KEY),
    (RetiredKeyError("t", "c", "00000001", "then", "later"), FindingKind.RETIRED_KEY),
    (UnknownKeyError("t", "c", "00000001"), FindingKind.UNKNOWN_KEY),
    (UnknownGenerationError("t", "c", "00000001"), FindingKind.UNKNOWN_GENERATION),
    (CannotOpenError("t", "c", "00000001"), FindingKind.DOES_NOT_OPEN),
    (RowBindingError("r"), FindingKind.DOES_NOT_OPEN),
]


@pytest.mark.parametrize(("error", "kind"), KINDS, ids=lambda one: type(one).__name__)
def test_each_error_is_of_its_own_kind(error: FieldError, kind: FindingKind) -> None:
    assert kind_of(error) is kind


def test_the_quarantine_is_told_the_kind_and_the_reason() -> None:
    finding = Finding((1,), "name", FindingKind.TERM_WRONG, "changed bytes")
    assert finding.failed() == Failed((1,), "name", "term is wrong: changed bytes")


def test_a_finding_shows_no_key_of_a_row() -> None:
    assert "secret" not in repr(Finding(("secret",), "name", FindingKind.TERM_WRONG, "changed bytes"))
