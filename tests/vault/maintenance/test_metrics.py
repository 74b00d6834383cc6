"""Metrics, as Prometheus' own parser reads them."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from kms import KeyRecord, KeyState, Purpose
from kms.provider import Wrapped
from vault.maintenance.metrics import KeyMeasure, render_metrics
from vault.maintenance.records import Recorded
from vault.maintenance.step import Outcome, Step

MOMENT = datetime(2030, 1, 2, tzinfo=UTC)
KEY = KeyRecord(bytes(16), Purpose.DATA, b"\1\2\3\4", 1, KeyState.ACTIVE, Wrapped(b"w", "local:x", "1"), MOMENT, MOMENT)


def recorded(step: Step, scope: str, outcome: Outcome = Outcome.DONE) -> Recorded:
    return Recorded(step, scope, outcome, MOMENT, MOMENT, None if outcome.is_failure else MOMENT, 7, 2, 5, 1.0, "")


def read(text: str) -> dict[tuple[str, str], float]:
    """By sample name and the rest of what tells it apart."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            rest = {
                name: value for name, value in sample.labels.items() if name not in {"keyring", "key_id", "purpose"}
            }
            found[sample.name, " ".join(rest.values())] = sample.value
    return found


def test_keys_steps_and_jobs_are_told() -> None:
    records = [
        recorded(Step.VERIFY, "visit", Outcome.INCOMPLETE),
        recorded(Step.COUNT, "01020304"),
        recorded(Step.MAINTAIN, ""),
    ]
    found = read(render_metrics("main", [KeyMeasure(KEY, 300, 50)], records, {("reencrypt", "visit"): 3}))
    assert found["noisevault_key_rows", ""] == 50
    assert found["noisevault_key_seals_total", ""] == 300
    assert [found["noisevault_key_state", state] for state in KeyState] == [0, 1, 0, 0, 0]
    assert found["noisevault_key_state_since_timestamp_seconds", ""] == MOMENT.timestamp()
    assert found["noisevault_maintenance_failures_total", "verify visit"] == 2
    assert found["noisevault_maintenance_last_run_failed", "verify visit"] == 1
    assert found["noisevault_maintenance_last_success_timestamp_seconds", "maintain "] == MOMENT.timestamp()
    assert ("noisevault_maintenance_last_success_timestamp_seconds", "verify visit") not in found
    assert found["noisevault_job_left_rows", "reencrypt visit"] == 3
    assert not any("count" in rest for _, rest in found), "a key's count is no step of its own"


def test_rows_that_were_never_counted_are_not_told_as_none() -> None:
    assert ("noisevault_key_rows", "") not in read(render_metrics("main", [KeyMeasure(KEY, 0, None)], [], {}))


def test_names_are_as_prometheus_asks() -> None:
    text = render_metrics("main", [KeyMeasure(KEY, 1, 1)], [recorded(Step.ROTATE, "")], {("verify", "t"): 1})
    for family in text_string_to_metric_families(text):
        assert family.name.startswith("noisevault_")
        assert family.documentation
        assert family.type in {"gauge", "counter"}
        assert all(sample.name.endswith("_total") == (family.type == "counter") for sample in family.samples)


@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=30))
def test_any_name_comes_through_as_it_is(name: str) -> None:
    (family,) = text_string_to_metric_families(render_metrics("main", [], [], {("verify", name): 1}))
    assert family.samples[0].labels == {"job": "verify", "table": name}
