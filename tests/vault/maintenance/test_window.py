"""The window: what would not end in it is not begun, and what would never be begun otherwise is."""

from hypothesis import given
from hypothesis import strategies as st

from vault.maintenance.window import Window

SECONDS = st.floats(0, 1e6)


@given(length=SECONDS, passed=SECONDS, estimate=SECONDS)
def test_what_does_not_resume_is_begun_only_if_it_ends(length: float, passed: float, estimate: float) -> None:
    window = Window(length, 0.0)
    if window.admits(estimate, passed, resumes=False):
        assert passed + estimate <= length + 1e-6


@given(length=st.floats(1, 1e6), estimate=SECONDS)
def test_what_resumes_is_begun_in_some_window(length: float, estimate: float) -> None:
    assert Window(length, 0.0).admits(estimate, 0.0, resumes=True)


@given(length=SECONDS, more=SECONDS, estimate=SECONDS, resumes=st.booleans())
def test_nothing_is_begun_after_the_end(length: float, more: float, estimate: float, resumes: bool) -> None:
    assert not Window(length, 0.0).admits(estimate, length + more, resumes=resumes)


@given(passed=SECONDS, estimate=SECONDS, resumes=st.booleans())
def test_without_an_end_everything_is_begun(passed: float, estimate: float, resumes: bool) -> None:
    assert Window(None, 0.0).admits(estimate, passed, resumes=resumes)


def test_what_fits_into_a_window_waits_for_one_with_enough_left() -> None:
    window = Window(100.0, 0.0)
    assert not window.admits(60.0, 50.0, resumes=True)
    assert window.admits(101.0, 50.0, resumes=True), "it goes on where it was stopped"
    assert not window.admits(101.0, 0.0, resumes=False)
