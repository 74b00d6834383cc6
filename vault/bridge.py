"""The bridge: the one door through which decrypted values reach dp.

A question is checked against the policy without the data, charged, and only then are the rows read, opened in memory,
filtered and handed to dp as arrays. Plaintext lives in this call's memory and nowhere else.
"""

from collections.abc import Iterator
from itertools import compress, repeat

import numpy as np
from sqlalchemy import Engine, create_engine

import dp
from dp.ask import ask
from dp.ledger import Ledger
from dp.request import Request
from dp.tie_break import row_ties
from kms import Keyring, close_before_fork
from vault.ledger_keys import LedgerAuditMacs, LedgerSealer, question_mac, tie_break_salt
from vault.policy import DatasetPolicy, Policy
from vault.project import Project
from vault.question import Question, validate
from vault.question.filtering import matches
from vault.rows.arrays import fits, key_bytes, numbers, units
from vault.rows.scan import Scan


def open_ledger(policy: Policy, keyring: Keyring) -> Ledger:
    """The ledger that the policy names, with keys from the keyring. Its tables are made by declare_budgets()."""
    return Ledger(
        ledger_engine(policy.ledger_url),
        audit=LedgerAuditMacs(keyring),
        question=question_mac(keyring),
        sealer=LedgerSealer(keyring),
    )


def ledger_engine(url: str) -> Engine:
    engine = create_engine(url, hide_parameters=True)
    close_before_fork(engine)  # else the charges of a daemon could be lost
    return engine


def declare_budgets(ledger: Ledger, policy: Policy) -> None:
    """Bring the ledger to the policy's lifetime budgets; what was spent stays spent, a change is logged."""
    ledger.create_schema()
    for name, dataset in policy.dataset.items():
        ledger.declare(name, dataset.lifetime_nano)


def budgets_that_differ(ledger: Ledger, policy: Policy) -> list[str]:
    """The datasets of which the policy's lifetime budget is not the ledger's."""
    return [name for name, rules in policy.dataset.items() if ledger.status(name).lifetime != rules.lifetime_nano]


def answer(
    project: Project, ledger: Ledger, dataset: str, question: Question, *, nano_epsilon: int, who: str
) -> dp.Answer:
    """The noisy answer to one question, paid for by `nano_epsilon` of the dataset's budget; a repeat is free.

    Raises: QuestionError and dp.ParameterError before anything is charged; dp.BudgetExhaustedError; DpError.
    """
    policy = project.policy.dataset
    validate(question, project.policy, dataset)
    rules = policy[dataset]
    labels = rules.group_labels(question.by)
    asked = dp_question(project.policy, dataset, question, len(labels))
    request = Request(
        dataset=dataset,
        epoch=ledger.status(dataset).epoch,
        principal=who,
        question_text=question.canonical(),
        nano_epsilon=nano_epsilon,
        parameters=read_as(project.policy, dataset, question),
        group_labels=tuple(", ".join(map(repr, label)) for label in labels),
        shared=True,
    )
    columns = tuple(sorted({*question.columns, rules.unit}))
    project.require_sealed(project.table(rules.table), columns)
    live = project.opened.keyring.warm()
    scan = Scan(project.engine, project.table(rules.table), project.fields(project.table(rules.table)), columns, live)
    scan.require_columns()
    salt = tie_break_salt(project.opened.keyring, dataset)
    return ask(ledger, request, asked, lambda: chunks(scan, project.policy, rules, question, salt), salt=salt)


def read_as(policy: Policy, dataset: str, question: Question) -> str:
    """Which rows a question is about and how their columns are read: with another type, other values fit."""
    rules = policy.dataset[dataset]
    kinds = policy.table[rules.table].column
    columns = (f"{name} {kinds[name].type}" for name in sorted({*question.columns, rules.unit}))
    return f"table {rules.table} unit {rules.unit} columns {', '.join(columns)}"


def dp_question(policy: Policy, dataset: str, question: Question, n_groups: int) -> dp.Question:
    """The question in dp's terms, from the policy alone."""
    rules = policy.dataset[dataset]
    caps = dp.Caps(rules.rows_per_unit, rules.groups_per_unit if question.by else 1)
    if question.column is None:
        return dp.Count(caps, n_groups)
    kind = dp.Sum if question.aggregate == "sum" else dp.Mean
    return kind(caps, policy.grid(dataset, question.column), n_groups)


def chunks(scan: Scan, policy: Policy, rules: DatasetPolicy, question: Question, salt: bytes) -> Iterator[dp.Chunk]:
    """The rows that a question is about, batch by batch, as arrays. Nothing raises because of a value."""
    kinds = {name: column.type for name, column in policy.table[rules.table].column.items()}
    places = {label: at for at, label in enumerate(rules.group_labels(question.by))}
    must_fit = (rules.unit,) if question.column is None else (rules.unit, question.column)
    for batch in scan.batches():
        keep = [True] * len(batch.keys)
        for name in must_fit:
            keep = [kept and fits(value, kinds[name]) for kept, value in zip(keep, batch.columns[name], strict=True)]
        for one in question.where:
            met = matches(one, batch.columns[one.column], kinds[one.column])
            keep = [a and b for a, b in zip(keep, met, strict=True)]
        kept = list(compress(range(len(keep)), keep))
        of = {name: [values[at] for at in kept] for name, values in batch.columns.items()}
        groups = zip(*(of[name] for name in question.by), strict=True) if question.by else repeat((), len(kept))
        yield dp.Chunk(
            unit=units(of[rules.unit], kinds[rules.unit]),
            group=np.array([places.get(group, -1) for group in groups], dtype=np.int32),
            tie=row_ties(salt, key_bytes(batch.keys[at] for at in kept)),
            value=None if question.column is None else numbers(of[question.column], kinds[question.column]),
        )
