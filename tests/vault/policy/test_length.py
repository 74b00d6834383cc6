"""Lengths of time, as a policy writes them."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.vault.policy.example import EXAMPLE, faults_after
from vault.policy import Policy


@pytest.mark.parametrize(("text", "days"), [('"35d"', 35), ('"2w"', 14), ('"3650d"', 3650)])
def test_a_length_is_a_number_and_a_unit(text: str, days: int) -> None:
    policy = Policy.read(EXAMPLE.replace("[vault]", f"[vault]\nreplica_lag = {text}"), Path("/srv"))
    assert policy.vault.replica_lag == timedelta(days=days)


@pytest.mark.parametrize("value", ["35", '"35"', '"3651d"', "true", '"soon"'])
def test_anything_else_is_refused_with_an_example(value: str) -> None:
    (fault,) = faults_after(("[vault]", f"[vault]\nreplica_lag = {value}"))
    assert fault.startswith("vault.replica_lag: ")
    assert "such as" in fault
