"""restore-check: what a database, key store or ledger that was put back has lost, and what to do, in order."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import create_engine

from dp.ledger.log.audit import AuditHead
from kms import KeyProvider, Keyring, KeyStore
from kms.seal_counter import SealCounter
from vault.cli.audit_head_file import read_head
from vault.cli.job_ending import INCOMPLETE
from vault.cli.kek_health import keks_or_why
from vault.cli.models import ModelsOption, load_models
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy, require_named
from vault.cli.restored_ledger import (
    has_ledger,
    head_findings,
    ledger_counter_findings,
    ledger_key_findings,
    named_by_ledger,
    whole_findings,
)
from vault.opened_ledger import ledger_engine
from vault.policy import Policy
from vault.project import require_files
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.needed_keys import KeyNeed
from vault.restoration.steps import steps
from vault.restoration.survey import Survey, survey
from vault.schema import tables

__all__ = ["restore_check"]


def restore_check(
    kept: Annotated[
        Path | None,
        typer.Option("--audit-head", metavar="FILE", help="What `noisevault audit head FILE` wrote before."),
    ] = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """After a restore: which keys the rows need and whether they live, what went back, what to do. Changes nothing.

    Exit status: 0 all is well, 3 something must be done, 1 refused or failed.
    """
    head = None if kept is None else read_head(kept)
    mapped = load_models(models)
    rules = load_policy(policy, mapped)
    require_named(rules)
    require_files(rules)
    found, findings = _looked(rules, list((tables(rules) if mapped is None else mapped).tables.values()), head)
    todo = steps(findings, found.needs)
    if as_json:
        typer.echo(json.dumps(members(found, findings, todo), indent=2))
    else:
        console = Console(soft_wrap=True, markup=False, highlight=False)
        for line in lines(found, findings, todo, compared=head is not None):
            console.print(line)
    if findings:
        raise typer.Exit(INCOMPLETE)


def _looked(policy: Policy, declared: list[Any], head: AuditHead | None) -> tuple[Survey, list[Finding]]:
    with ExitStack() as closed:
        engine, ledger = create_engine(policy.database_url, hide_parameters=True), ledger_engine(policy.ledger_url)
        closed.callback(engine.dispose)
        closed.callback(ledger.dispose)
        store = closed.enter_context(closing(KeyStore.from_url(policy.keys_url)))
        provider = keks_or_why(policy)
        there = has_ledger(ledger)
        found = survey(
            engine, declared, store, provider, policy.vault.keyring, named_by_ledger(ledger) if there else {}
        )
        findings = [*found.findings, *ledger_key_findings(found.needs)]
        if not {one.kind for one in findings} & {FindingKind.NO_KEYRING}:
            findings += ledger_counter_findings(found.needs, SealCounter(store.engine).counts())
        if not there and (policy.dataset or head is not None):
            findings.append(Finding(FindingKind.LEDGER_LACKING, "ledger", 0, "its tables are not in the database"))
        if there and head is not None:
            findings += head_findings(ledger, head)
        if there and not {one.kind for one in findings} & {FindingKind.NO_KEYRING, FindingKind.KEK_AWAY}:
            findings += _whole(policy, store, provider)
    return found, findings


def _whole(policy: Policy, store: KeyStore, provider: KeyProvider) -> list[Finding]:
    with closing(Keyring.open(store, provider, policy.vault.keyring, refresh=False)) as keyring:
        return list(whole_findings(policy, keyring))


def members(found: Survey, findings: list[Finding], todo: list[str]) -> dict[str, Any]:
    """For programs."""
    return {
        "well": not findings and not found.untried,
        "rows": found.rows,
        "keys": [
            {
                "key_id": need.key_id.hex(),
                "keyring": need.keyring,
                "purpose": "" if need.record is None else need.record.purpose.value,
                "sequence": None if need.record is None else need.record.sequence,
                "state": need.state,
                "lives": need.lives,
                "tried": need not in found.untried,
                "rows": need.rows,
                "uses": [{"where": use.where, "what": use.what, "count": use.count} for use in need.uses],
            }
            for need in found.needs
        ],
        "findings": [
            {"kind": f.kind.value, "where": f.where, "count": f.count, "key_id": f.key_id.hex(), "text": f.text}
            for f in findings
        ],
        "steps": todo,
    }


def lines(found: Survey, findings: list[Finding], todo: list[str], *, compared: bool) -> Iterator[str]:
    """For people."""
    for need in found.needs:
        yield _in_one_line(need)
    for one in findings:
        key = f" {one.key_id.hex()}" if one.key_id else ""
        yield f"{one.kind.value}{key}, {one.where}: {one.text}"
    if not compared:
        yield "not compared: the audit log with a head kept elsewhere (--audit-head FILE)"
    yield from _untried(found)
    if not findings and found.untried:
        yield "nothing was found as far as this policy shows it"
        return
    if not findings:
        yield f"all is well: {len(found.needs)} keys that {found.rows} rows and the ledger need live"
        return
    yield "What to do, in this order:"
    for number, step in enumerate(todo, start=1):
        yield f"{number}. {step}"


def _untried(found: Survey) -> Iterator[str]:
    places = Counter((n.keyring, n.record.wrapped.kek) for n in found.untried if n.record and n.record.wrapped)
    for (keyring, kek), number in sorted(places.items()):
        yield (
            f"not tried: whether {number} keys of keyring {keyring} unwrap by {kek}, which this policy does not name:"
            " run this with the policy that does"
        )


def _in_one_line(need: KeyNeed) -> str:
    which = "key" if need.record is None else f"{need.record.purpose} key"
    return f"{which} {need.key_id.hex()}, {need.state}: {', '.join(map(str, need.uses))}"
