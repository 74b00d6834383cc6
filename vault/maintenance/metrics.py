"""Metrics: the state of keys, steps and jobs as Prometheus' text format, for node_exporter's textfile collector.

Moments are UNIX times, as Prometheus asks: an age is `time() - noisevault_key_state_since_timestamp_seconds`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kms.key_record import KeyRecord, KeyState
from vault.maintenance.records import Recorded
from vault.maintenance.step import Step

__all__ = ["KeyMeasure", "render_metrics"]

Labels = dict[str, str]
Sample = tuple[Labels, float]
ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class KeyMeasure:
    """seals: of the field that the key sealed most. rows: that name it, as last counted; None: never counted."""

    record: KeyRecord
    seals: int
    rows: int | None


def render_metrics(
    keyring: str, keys: Sequence[KeyMeasure], records: Iterable[Recorded], left: Mapping[tuple[str, str], int]
) -> str:
    """left: rows in quarantine, by job and table."""
    of_keys = [(_key_labels(keyring, one.record), one) for one in keys]
    steps = [({"keyring": keyring, "step": one.step.value, "scope": one.scope}, one) for one in records]
    done = [(labels, one) for labels, one in steps if one.step is not Step.COUNT or not one.scope]
    rows = [(labels, one.rows) for labels, one in of_keys if one.rows is not None]
    seals = [(labels, one.seals) for labels, one in of_keys]
    states = [
        (at | {"state": state.value}, int(state is one.record.state)) for at, one in of_keys for state in KeyState
    ]
    created = [(labels, one.record.created_at.timestamp()) for labels, one in of_keys]
    since = [(labels, one.record.changed_at.timestamp()) for labels, one in of_keys]
    runs = [(labels, one.runs) for labels, one in done]
    failures = [(labels, one.failures) for labels, one in done]
    ended = [(labels, one.ended_at.timestamp()) for labels, one in done]
    succeeded = [(labels, one.succeeded_at.timestamp()) for labels, one in done if one.succeeded_at is not None]
    failed = [(labels, int(one.outcome.is_failure)) for labels, one in done]
    listed = [({"job": job, "table": table}, number) for (job, table), number in sorted(left.items())]
    families = (
        ("key_rows", "gauge", "Rows in which a value or a term names the key, as last counted.", rows),
        ("key_seals_total", "counter", "Values sealed by the key, of the field that it sealed most.", seals),
        ("key_state", "gauge", "1 for the state that the key is in.", states),
        ("key_created_timestamp_seconds", "gauge", "When the key was made.", created),
        ("key_state_since_timestamp_seconds", "gauge", "Since when the key is in its state.", since),
        ("maintenance_runs_total", "counter", "How often the step was run.", runs),
        ("maintenance_failures_total", "counter", "How often the step failed, or left rows.", failures),
        ("maintenance_last_run_timestamp_seconds", "gauge", "When the step ended last.", ended),
        ("maintenance_last_success_timestamp_seconds", "gauge", "When the step ended well last.", succeeded),
        ("maintenance_last_run_failed", "gauge", "1 if the last run of the step failed, or left rows.", failed),
        ("job_left_rows", "gauge", "Rows that a job left in noisevault_quarantine.", listed),
    )
    return "".join(_family(*family) for family in families)


def _key_labels(keyring: str, record: KeyRecord) -> Labels:
    return {"keyring": keyring, "key_id": record.key_id.hex(), "purpose": record.purpose.value}


def _family(name: str, kind: str, told: str, samples: Sequence[Sample]) -> str:
    if not samples:
        return ""
    full = f"noisevault_{name}"
    lines = [f"# HELP {full} {told}", f"# TYPE {full} {kind}"]
    lines += [f"{full}{{{_labels(labels)}}} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    return ",".join(f'{name}="{text.translate(ESCAPES)}"' for name, text in labels.items())
