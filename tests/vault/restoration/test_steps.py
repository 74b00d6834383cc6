"""What to do about what was found: something for each kind, and in an order that loses nothing."""

from hypothesis import given
from hypothesis import strategies as st

from vault.restoration.finding import Finding, FindingKind
from vault.restoration.steps import LEDGER, STORE_BACK, steps

KEY = b"\1\2\3\4"
findings = st.lists(st.sampled_from(FindingKind), min_size=1, unique=True).map(
    lambda kinds: [Finding(kind, "visit.mail", 3, "told", KEY) for kind in kinds]
)


def place(told: list[str], words: str) -> int:
    return next((at for at, step in enumerate(told) if words in step), len(told))


def test_nothing_is_to_be_done_about_nothing() -> None:
    assert steps([], []) == []


@given(found=findings)
def test_writers_stop_first_and_begin_last_and_what_cannot_be_undone_comes_after_the_copies(
    found: list[Finding],
) -> None:
    told = steps(found, [])
    kinds = {one.kind for one in found}
    assert told[0].startswith("Stop every process that writes")
    assert told[-1].startswith("Start the services")
    if kinds & STORE_BACK:
        copy = place(told, "later copy of it exists")
        for later in ("noisevault rotate", "noisevault init", "noisevault reencrypt", "noisevault reindex", "Lost for"):
            assert copy < place(told, later)
    assert (place(told, "noisevault keys databases with the policy of every") < len(told)) == bool(kinds & STORE_BACK)
    for first, then in (
        ("rotate --purpose data", "noisevault reencrypt"),
        ("records them again", "rotate --purpose index"),
        ("rotate --purpose index", "reindex --all --wait"),
    ):
        if place(told, first) < len(told):
            assert place(told, first) < place(told, then)
    assert (place(told, "Stop whoever asks") < len(told)) == bool(kinds & LEDGER)


@given(found=findings)
def test_no_step_depends_on_the_order_of_what_was_found(found: list[Finding]) -> None:
    assert sorted(steps(found, [])) == sorted(steps(found[::-1], []))


def test_there_is_a_step_of_its_own_for_each_kind() -> None:
    usual = {"Stop every process", "Start the services", "Stop whoever asks"}
    for kind in FindingKind:
        told = steps([Finding(kind, "visit.mail", 3, "told", KEY)], [])
        own = [step for step in told if not step.startswith(tuple(usual))]
        assert own or kind is FindingKind.KEY_RETIRED, kind
