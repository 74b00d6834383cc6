"""The bridge: the one door through which decrypted values reach dp.

A question is checked against the policy without the data, charged, and only then are the rows read, opened in memory,
filtered and handed to dp as arrays. Plaintext lives in this call's memory and nowhere else; where workers share the
scan, in theirs: what they return is bounded, and sealed for whoever asked (shared_scan.py).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dp
from dp.ask import Read, ask
from dp.ask_batch import ask_batch
from dp.last_moment import NO_LAST_MOMENT, LastMoment
from dp.ledger import Ledger
from dp.request import Request
from dp.tie_break import integer_row_ties, row_ties
from vault.errors import PolicyError
from vault.expression import Column, Expression
from vault.jobs.walking.key_pages import within_raw
from vault.jobs.walking.key_range import WHOLE
from vault.ledger_keys import question_mac, tie_break_salt
from vault.mapping.definitions import definition_of, sealed_columns
from vault.policy import ColumnType, DatasetPolicy, Policy
from vault.project import Project
from vault.question import Question, admit, parse
from vault.question.filtering import matches
from vault.rows.arrays import all_fit, fits, hashes, key_bytes, keys_of, numbers, units
from vault.rows.evaluation import evaluated
from vault.rows.scan import Scan
from vault.rows.told_length import Counted, as_of_all_rows, of_any_length
from vault.shared_scan import PartToRead, SharedScan
from vault.translation import dp_question, labels, read_as, spelled, undeclared

__all__ = [
    "answer",
    "answers",
    "chunks",
    "dp_question",
    "meaning",
    "read_part",
    "scan_of",
    "ties_of",
    "values_of",
]


def answer(
    project: Project,
    ledger: Ledger,
    dataset: str,
    question: Question,
    *,
    price: dp.Price,
    who: str,
    request_id: str | None = None,
    shared: SharedScan | None = None,
    until: LastMoment = NO_LAST_MOMENT,
) -> dp.Answer:
    """The noisy answer to one question, paid for by `price` out of the dataset's budget; a repeat is free.

    price: as price_of() gives it. request_id: the asker's own name for this request; sent again, it gets what became of
    it. shared: who reads the rows, if not this process; the answer hangs on the rows and not on who reads them. Where
    the groups are not declared this process does: how long their keys are would show.
    until: when it has passed there is no answer any more; what was charged by then stays spent.
    Raises: QuestionError, dp.ParameterError, and PolicyError for workers that read another policy, before anything is
    charged; dp.BudgetExhaustedError; DpError.
    """
    allowed = _allowed(project, dataset, question, price)
    asker = _Asker(who, ledger.status(dataset).epoch, request_id)
    to_ask = _to_ask(project, dataset, allowed, asker, shared)
    return ask(ledger, *to_ask, salt=tie_break_salt(project.opened.keyring, dataset), until=until)


def answers(
    project: Project,
    ledger: Ledger,
    dataset: str,
    prices: Mapping[Question, dp.Price],
    *,
    atto_delta: int,
    who: str,
    request_id: str | None = None,
    shared: SharedScan | None = None,
    until: LastMoment = NO_LAST_MOMENT,
) -> dp.Answers:
    """The noisy answers to a batch of questions, paid for by one charge; the batch again, in any order, is free.

    prices: of each question, as admit() gives it. atto_delta: what the batch may use beside the questions' own deltas.
    The rows are read once for each question. request_id: of the batch. shared, until, Raises: as answer().
    """
    allowed = [_allowed(project, dataset, question, price) for question, price in prices.items()]
    asker = _Asker(who, ledger.status(dataset).epoch, request_id)
    each = [_to_ask(project, dataset, one, asker, shared) for one in allowed]
    requests, questions, reads = zip(*each, strict=True)
    salt = tie_break_salt(project.opened.keyring, dataset)
    return ask_batch(ledger, requests, questions, reads, salt=salt, atto_delta=atto_delta, until=until)


class _Allowed(NamedTuple):
    """A question that the policy allows, at a price that it can take."""

    question: Question
    asked: dp.Question
    price: dp.Price


class _Asker(NamedTuple):
    """Who asks, in which epoch, and under which name of the request."""

    who: str
    epoch: int
    request_id: str | None


def _allowed(project: Project, dataset: str, question: Question, price: dp.Price) -> _Allowed:
    question = admit(question, project.policy, dataset)
    asked = dp_question(project.policy, dataset, question)
    asked.noise(price)  # so that a price which the question cannot take is told before anything is opened or read
    return _Allowed(question, asked, price)


def _to_ask(
    project: Project, dataset: str, allowed: _Allowed, asker: _Asker, shared: SharedScan | None
) -> tuple[Request, dp.Question, Read]:
    """What dp is asked. Whatever can be refused without the data is; no row is read."""
    question, asked, price = allowed
    rules = project.policy.dataset[dataset]
    request = Request(
        dataset=dataset,
        epoch=asker.epoch,
        principal=asker.who,
        question_text=question.canonical(),
        price=price,
        parameters=read_as(project.policy, dataset, question),
        group_labels=spelled(labels(rules, question)),
        shared=rules.answers == "shared",
        columns=question.columns,
        request_id=asker.request_id,
    )
    table = project.table(rules.table)
    project.require_sealed(table, {*question.columns, rules.unit})
    scan = scan_of(project, dataset, question, project.opened.keyring.warm())
    scan.require_columns()
    if shared is None or undeclared(rules, question):
        salt = tie_break_salt(project.opened.keyring, dataset)
        return request, asked, lambda: chunks(scan, project.policy, rules, question, salt)
    to_do = PartToRead(dataset, question.canonical(), meaning(project, dataset, question), scan.live)
    shared.require_alike(read_part, to_do)
    sealed = shared.read(read_part, to_do, project.engine, table, question_mac(project.opened.keyring))
    return request, asked, lambda: (dp.Partial.from_bytes(of_any_length(told)) for told in sealed)


def read_part(project: Project, part: PartToRead) -> bytes:
    """In a worker: what may count of a part of the rows, bounded, as bytes; nothing where no rows are asked for.

    Raises: PolicyError where the worker's policy says otherwise than that of whoever asked; KmsError.
    """
    question, rules = parse(part.question), project.policy.dataset.get(part.dataset)
    if rules is None or meaning(project, part.dataset, question) != part.meaning:
        raise PolicyError("a worker reads another policy than this process: bring the worker's to what it is here")
    if part.key_range is None:
        return b""
    project.opened.keyring.warm()
    salt = tie_break_salt(project.opened.keyring, part.dataset)
    scan = replace(
        scan_of(project, part.dataset, question, part.live),
        conditions=lambda raw: within_raw(raw, part.key_range or WHOLE, project.engine.dialect.name),
        snapshot=part.snapshot,
    )
    asked, counted = dp_question(project.policy, part.dataset, question), Counted(scan)
    told = asked.part(chunks(counted, project.policy, rules, question, salt), salt).to_bytes()
    return as_of_all_rows(told, counted.rows)


def scan_of(project: Project, dataset: str, question: Question, live: frozenset[bytes]) -> Scan:
    """All rows that a question is about. live: the keys that open."""
    rules = project.policy.dataset[dataset]
    table = project.table(rules.table)
    columns = tuple(sorted({*question.columns, rules.unit}))
    return Scan(project.engine, table, project.fields(table), columns, live)


def meaning(project: Project, dataset: str, question: Question) -> str:
    """All that the answer hangs on beside the rows and the keys, in one digest."""
    rules = project.policy.dataset[dataset]
    asked = dp_question(project.policy, dataset, question)
    definitions = sorted(definition_of(column).fingerprint for column in sealed_columns(project.table(rules.table)))
    said = [repr(asked), repr(rules), read_as(project.policy, dataset, question), *definitions]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def chunks(
    scan: Scan | Counted, policy: Policy, rules: DatasetPolicy, question: Question, salt: bytes
) -> Iterator[dp.Chunk]:
    """The rows that a question is about, batch by batch, as arrays. Nothing raises because of a value."""
    kinds = {name: column.type for name, column in policy.table[rules.table].column.items()}
    places = {} if undeclared(rules, question) else {at: n for n, at in enumerate(rules.group_labels(question.by))}
    of = question.of
    must_fit = (rules.unit, *question.by, *((of.name,) if isinstance(of, Column) else ()))
    for batch in scan.batches():
        keep = [True] * len(batch)
        for name in must_fit:
            if not all_fit(batch.columns[name], kinds[name]):
                keep = [
                    kept and fits(value, kinds[name]) for kept, value in zip(keep, batch.columns[name], strict=True)
                ]
        if question.aggregate == "count_distinct" and isinstance(of, Column):
            keep = [a and value == value for a, value in zip(keep, batch.columns[of.name], strict=True)]  # noqa: PLR0124
        for one in question.where:
            met = matches(one, batch.columns[one.column], kinds[one.column])
            keep = [a and b for a, b in zip(keep, met, strict=True)]
        rows, kept = batch.columns, batch.keys
        if not all(keep):
            rows = {name: list(compress(values, keep)) for name, values in rows.items()}
            kept = [list(compress(values, keep)) for values in kept]
        count, keys = len(kept[0]), None
        if not question.by:
            group = np.zeros(count, dtype=np.int32)
        elif places:
            named = zip(*(rows[name] for name in question.by), strict=True)
            group = np.array([places.get(one, -1) for one in named], dtype=np.int32)
        else:
            found, keys = keys_of(rows[question.by[0]], kinds[question.by[0]])
            group = np.array(found, dtype=np.int32)
        yield dp.Chunk(
            unit=units(rows[rules.unit], kinds[rules.unit]),
            group=group,
            tie=ties_of(kept, salt),
            value=None if of is None else values_of(question, of, rows, kinds, count, salt),
            keys=keys,
        )


def ties_of(keys: Sequence[Sequence[Any]], salt: bytes) -> NDArray[np.uint64]:
    """By what rows of a unit are chosen: a salted hash of each row's own primary key, of which `keys` has the columns.

    Of 64-bit integers, as most keys are, it is computed by the column; of what else there is from its bytes.
    """
    if all(all_fit(column, "int") for column in keys):
        return integer_row_ties(salt, *(np.array(column, dtype=np.int64) for column in keys))
    whole = [all(fits(part, "int") for part in key) for key in zip(*keys, strict=True)]
    ties, others = np.empty(len(whole), dtype=np.uint64), [not one for one in whole]
    ties[others] = row_ties(salt, key_bytes([list(compress(column, others)) for column in keys]))
    if any(whole):
        ties[whole] = ties_of([list(compress(column, whole)) for column in keys], salt)
    return ties


def values_of(
    question: Question,
    of: Expression,
    rows: Mapping[str, Sequence[Any]],
    kinds: Mapping[str, ColumnType],
    count: int,
    salt: bytes,
) -> NDArray[np.int64] | NDArray[np.float64]:
    """What is aggregated, of each row: a column's values, which fit, as they are; an expression's in float64.

    Where they are only told apart, a salted hash of 62 bits stands for each.
    """
    if not isinstance(of, Column):
        return evaluated(of, rows, kinds, count)
    if question.aggregate == "count_distinct":
        return hashes(rows[of.name], kinds[of.name], salt)
    return numbers(rows[of.name], kinds[of.name])
