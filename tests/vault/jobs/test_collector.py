"""How often Python looks for cyclic garbage while jobs run, and afterwards."""

import gc

import pytest

from vault.jobs.collector import OBJECTS, rare_collections


def test_collections_are_rare_within_and_as_before_afterwards() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with rare_collections():
        assert gc.get_threshold() == (OBJECTS, *before[1:])
        assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_they_are_as_before_after_an_error_too() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError):
        _fails_within()
    assert gc.get_threshold() == before


def _fails_within() -> None:
    with rare_collections():
        1 / 0  # noqa: B018
