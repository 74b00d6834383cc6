"""Audit events: what key rows and job rows tell of keys and jobs, told to the audit log, each event once.

They follow from the rows as they are, so that what could not be told at once is told later; a state that a key left
again before anybody looked is not known any more. None holds a value of a row.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from rich.console import Console
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from dp import DpError
from dp.ledger import Event
from kms import KeyRecord, Keyring, KmsError
from vault.errors import VaultError
from vault.jobs.job_store import COUNTS, JobStore, is_held
from vault.maintenance.turn import JOB as MAINTAIN
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project

__all__ = ["audited", "job_events", "key_events", "project_events", "tell_audit", "tell_audit_of_keys"]


def key_events(keyring: str, records: Iterable[KeyRecord]) -> Iterator[Event]:
    """Of each key: made, its state now, and by what it is wrapped. keyring: its name."""
    for record in records:
        key_id = record.key_id.hex()
        key: dict[str, str] = {"key": key_id, "keyring": keyring, "purpose": record.purpose.value}
        made: dict[str, str | int] = {**key, "sequence": record.sequence, "made_at": record.created_at.isoformat()}
        yield Event(f"key {key_id} made", "key made", made)
        entered, state = record.changed_at.isoformat(), record.state.value
        yield Event(f"key {key_id} {state} {entered}", f"key {state}", key | {"changed_at": entered})
        if record.wrapped is not None:
            by = {"kek": record.wrapped.kek, "kek_version": record.wrapped.kek_version}
            named = hashlib.sha256(repr(sorted(by.items())).encode()).hexdigest()[:32]
            yield Event(f"key {key_id} wrapped by {named}", "key wrapped", key | by)


def job_events(jobs: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """Of each job: its last run, and how that ended. jobs: as JobStore.all() gives them."""
    for job in jobs:
        if job["job"] == MAINTAIN:
            continue  # every hour; what it does is told as what it is
        what = {"job": job["job"], "table": job["table_name"], "part": job["part"]}
        run = hashlib.sha256(repr([*sorted(what.items()), job["run"]]).encode()).hexdigest()[:32]
        yield Event(f"job {run} begun", "job begun", what | {"begun_at": job["begun_at"], "rows": job["total"]})
        if not is_held(job["state"]):
            counts = {name: job[name] for name in COUNTS}
            ended = what | counts | {"ended_at": job["changed_at"]}
            yield Event(f"job {run} {job['state']}", f"job {job['state']}", ended)


def project_events(project: Project) -> list[Event]:
    """Of the policy's keyring and database."""
    keyring = project.opened.keyring
    return [*key_events(keyring.name, keyring.records()), *job_events(JobStore(project.engine).all())]


def tell_audit(project: Project) -> None:
    """At the end of what changed keys or ran jobs. Where the ledger does not answer a line says so, and no more."""
    _tell(project.policy, project.opened.keyring, project.engine)


def tell_audit_of_keys(policy: Policy, keyring: Keyring) -> None:
    """The same, of keys alone."""
    _tell(policy, keyring, None)


@contextmanager
def audited(project: Project, *, when: bool = True) -> Iterator[None]:
    """Jobs are run within. when: False where they write nothing."""
    try:
        yield
    finally:
        if when:
            tell_audit(project)


def _tell(policy: Policy, keyring: Keyring, engine: Engine | None) -> None:
    if not policy.dataset:
        return  # and no ledger
    try:
        events = list(key_events(keyring.name, keyring.records()))
        if engine is not None:
            events += job_events(JobStore(engine).all())
        with closing(open_ledger(policy, keyring)) as ledger:
            ledger.record_events(events)
    except (DpError, KmsError, VaultError) as error:
        why = str(error)
    except SQLAlchemyError as error:  # whose text may quote a row
        why = type(error).__name__
    else:
        return
    told = f"not in the audit log yet: {why}; it is told again by: noisevault maintain"
    Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(told)
