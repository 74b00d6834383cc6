"""The bridge on a real database, keys and ledger; the totals beneath the noise are looked at with noise left out."""

import logging
import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event, insert, text, update

import dp
from dp.errors import AuditError, BudgetExhaustedError
from dp.tie_break import integer_row_ties, row_ties
from kms import Keyring, ProviderSettings, Purpose, open_provider
from kms.providers.local import create_key_file
from tests.vault.phases import set_phase
from tests.vault.projects import make_project, visit, write_policy
from vault.bridge import answer, answers, chunks, dp_question, ties_of
from vault.budgets import declare_budgets
from vault.changeover.phase import Phase, Subject
from vault.errors import PolicyError
from vault.ledger_keys import tie_break_salt
from vault.modes.recorded_modes import PLAINTEXT, SEALED
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.policy.allowance import Allowance
from vault.project import Project
from vault.question import QuestionError, admit, parse
from vault.rows.arrays import key_bytes
from vault.rows.raw_table import raw_table
from vault.rows.scan import Batch, Scan

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    project = make_project(tmp_path, database_url)
    rows = [visit(person, year) for person in range(30) for year in range(1, 1 + 1 + person % 3)]
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), rows)
    yield project
    project.engine.dispose()


def totals(project: Project, text: str) -> tuple[tuple[int, ...], ...]:
    """What the question adds up before the noise."""
    question = admit(parse(text), project.policy, "visits")
    rules = project.policy.dataset["visits"]
    table = project.table("visit")
    salt = tie_break_salt(project.opened.keyring, "visits")
    columns = tuple(sorted({*question.columns, "person"}))
    scan = Scan(project.engine, table, project.fields(table), columns, project.opened.keyring.warm(), rows_a_batch=7)
    asked = dp_question(project.policy, "visits", question)
    rows = chunks(scan, project.policy, rules, question, salt)
    return asked.aggregate(asked.bound(rows, salt)).totals


def test_units_are_bounded_groups_are_declared_and_filters_filter(project: Project) -> None:
    # Persons 0, 3, 6... have one year, then two, then three, of which the cap lets two count.
    assert totals(project, "count(*)") == ((10 * 1 + 10 * 2 + 10 * 2,),)
    assert totals(project, "count(*) by site") == ((10, 20, 20),)
    assert totals(project, "count(*) where spending <= 10") == ((30,),)
    assert totals(project, "sum(spending) where year = 1") == ((30 * 1000,),)
    assert totals(project, "count(*) where diagnosis = 'asthma' and site in (1, 2)") == ((30,),)
    assert totals(project, "count(*) where diagnosis = 'gout'") == ((0,),)


def test_every_aggregate_is_of_the_rows_that_count(project: Project) -> None:
    """Each person's visits cost 10, 20, 30 in years 1, 2, 3; two of the three visits of persons 2, 5, ... count."""
    assert totals(project, "count_units(*)") == ((30,),)
    assert totals(project, "count_units(*) by site") == ((10, 10, 10),)
    assert totals(project, "count_distinct(person)") == ((30,),)
    assert totals(project, "count_distinct(national_id) by site") == ((10, 10, 10),)
    assert totals(project, "count_distinct(diagnosis)") == ((1,),)
    assert totals(project, "count_distinct(year) where person < 2") == ((2,),)
    assert totals(project, "histogram(spending) where year = 2") == ((0, 20, 0),)
    (histogram,) = totals(project, "histogram(spending) where year <= 2")
    assert sum(histogram) == 30, "a bin is a group, and a person counts in one"
    assert totals(project, "top(2) by site") == ((10, 20, 20),)
    assert totals(project, "sum(spending / site) where year = 1") == (((1000 + 500 + 333) * 10,),)
    assert totals(project, "sum(a_site) where year = 1 by site") == ((10000, 5000, 3330),)
    count = 20 + 30
    deviations, squares, counted = totals(project, "variance(spending) where year <= 2")
    assert (counted, deviations) == ((50,), (30 * 1000 + 20 * 2000 - count * 5000,))
    assert squares == (30 * 4000**2 + 20 * 3000**2 - count * (5000**2 // 2),)
    assert totals(project, "std(spending) where year <= 2") == (deviations, squares, counted)
    assert totals(project, "quantile(spending, 0.1, 0.9) where year <= 2") == ((50,),)


def test_null_units_values_and_undeclared_groups_are_dropped(project: Project) -> None:
    with project.engine.begin() as connection:
        connection.execute(
            insert(project.table("visit")),
            [visit(100, site=9), visit(101, site=None), visit(102, spending=None, site=1)],
        )
    assert totals(project, "count(*) by site") == ((11, 20, 20),)
    assert totals(project, "sum(spending) where person >= 100") == ((2000,),)


def test_what_does_not_open_is_dropped_without_a_word(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    raw = raw_table(project.table("visit"))
    before = totals(project, "count(*) where spending >= 0 and year = 1")
    with project.engine.begin() as connection:
        stored = connection.execute(raw.select().where(raw.c.person == 1, raw.c.year == 1)).one().spending
        flipped = stored[:-1] + bytes([stored[-1] ^ 1])
        connection.execute(update(raw).where(raw.c.person == 1, raw.c.year == 1).values(spending=flipped))
        unknown = stored[:2] + b"\xff\xff\xff\xfe" + stored[6:]
        connection.execute(update(raw).where(raw.c.person == 3, raw.c.year == 1).values(spending=unknown))
        connection.execute(update(raw).where(raw.c.person == 6, raw.c.year == 1).values(spending=b"plain"))
    with caplog.at_level(logging.DEBUG):
        assert totals(project, "count(*) where spending >= 0 and year = 1") == ((before[0][0] - 3,),)
    assert not [record for record in caplog.records if "spending" in record.getMessage()]


def test_a_copied_row_does_not_count_for_another_person(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        victim = connection.execute(raw.select().where(raw.c.person == 2, raw.c.year == 1)).mappings().one()
        forged = [dict(victim) | {"person": person} for person in range(1000, 1100)]
        connection.execute(insert(raw), forged)
    assert totals(project, "count(*) where spending >= 0 and person >= 1000") == ((0,),)


def test_answers_are_charged_repeated_for_nothing_and_refused_when_the_budget_is_gone(project: Project) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    half = dp.parse_epsilon("0.5")
    first = answer(project, ledger, "visits", parse("mean(spending) by site"), price=dp.Price.pure(half), who="ann")
    again = answer(project, ledger, "visits", parse("MEAN( spending )  by site"), price=dp.Price.pure(half), who="bob")
    assert first == again
    assert [group.group for group in first.groups] == [0, 1, 2]
    assert ledger.status("visits").spent == half
    answer(project, ledger, "visits", parse("count(*)"), price=dp.Price.pure(half), who="ann")
    with pytest.raises(BudgetExhaustedError):
        answer(project, ledger, "visits", parse("sum(spending)"), price=dp.Price.pure(1), who="ann")
    project.opened.keyring.lifecycle.rotate(Purpose.LEDGER)
    third = answer(project, ledger, "visits", parse("mean(spending) by site"), price=dp.Price.pure(half), who="ann")
    assert third == first
    ledger.verify_audit()


def in_ledger(project: Project, rules: dict[str, Any], url: str) -> Project:
    """With these rules of the dataset, and the ledger in that database, or where it was for one on SQLite."""
    dataset = project.policy.dataset["visits"].model_copy(update=rules)
    storage = project.policy.vault
    if not url.startswith("sqlite"):
        storage = storage.model_copy(update={"ledger": url})
    policy = project.policy.model_copy(update={"dataset": {"visits": dataset}, "vault": storage})
    return replace(project, policy=policy)


def test_every_column_that_a_question_touches_is_charged_and_no_other(project: Project, database_url: str) -> None:
    """Aggregated, also inside an expression, grouped or filtered by; the unit where a condition names it."""
    names = ("person", "year", "site", "national_id", "diagnosis", "spending")
    changed = in_ledger(
        project, {"column": {name: Allowance.model_validate({"month": "1"}) for name in names}}, database_url
    )
    with closing(open_ledger(changed.policy, project.opened.keyring)) as ledger:
        declare_budgets(ledger, changed.policy)

        def touched(*texts: str) -> dict[str, int]:
            before = {one.scope.subject: one.spent_nano for one in ledger.scopes("visits")}
            asked = {admit(parse(text), changed.policy, "visits"): dp.Price.pure(10**6) for text in texts}
            if len(asked) > 1:
                answers(changed, ledger, "visits", asked, atto_delta=0, who="ann")
            for question, price in asked.items() if len(asked) == 1 else ():
                answer(changed, ledger, "visits", question, price=price, who="ann")
            after = {one.scope.subject: one.spent_nano for one in ledger.scopes("visits")}
            return {name: nano - before[name] for name, nano in after.items() if nano != before[name]}

        one = 10**6
        assert touched("count(*)") == {}
        assert touched("count_units(*)") == touched("count(distinct person)") == {}
        assert touched("count(*) where person = 3") == {"person": one}
        assert touched("sum(spending) where year >= 2 by site") == {"spending": one, "year": one, "site": one}
        assert touched("mean(a_site)") == {"spending": one, "site": one}
        assert touched("histogram(spending) where diagnosis in ('gout', 'asthma')") == {
            "spending": one,
            "diagnosis": one,
        }
        assert touched("count_distinct(national_id)") == {"national_id": one}
        assert touched("top(2) by site") == {"site": one}
        assert touched("sum(spending)", "mean(spending) by site", "count(*) where year = 1") == {
            "spending": 2 * one,
            "site": one,
            "year": one,
        }
        ledger.verify_audit()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_own_answers_are_paid_for_by_each_asker_and_shared_ones_by_the_first(project: Project) -> None:
    price = dp.Price.pure(10**8)
    for answers_are, spent in (("shared", 1), ("own", 1 + 2)):
        changed = in_ledger(project, {"answers": answers_are}, "sqlite://")
        with closing(open_ledger(changed.policy, project.opened.keyring)) as ledger:
            declare_budgets(ledger, changed.policy)
            given = [answer(changed, ledger, "visits", parse("count(*)"), price=price, who=who) for who in "abab"]
            assert given[:2] == given[2:]
            assert ledger.status("visits").spent == spent * 10**8


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_batch_with_one_question_that_cannot_be_asked_sends_no_sql(project: Project, silent: list[str]) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    prices = {parse("count(*)"): dp.Price.pure(10**8), parse("variance(spending)"): dp.Price.pure(2)}
    silent.clear()
    with pytest.raises(dp.ParameterError, match="epsilon: this question shares it among 3 parts"):
        answers(project, ledger, "visits", prices, atto_delta=0, who="ann")
    assert not silent
    ledger.close()


def test_a_batch_is_charged_once_and_each_question_is_of_its_own_rows(project: Project) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    texts = ("count(*) where year = 1", "sum(spending) where year = 1", "count(*) by site")
    prices = {admit(parse(text), project.policy, "visits"): dp.Price.pure(10**8) for text in texts}
    first = answers(project, ledger, "visits", prices, atto_delta=0, who="ann")
    assert ledger.status("visits").spent == 3 * 10**8
    for question in prices:
        assert first.to(question.canonical()).question == question.canonical()
    again = answers(project, ledger, "visits", dict(reversed(prices.items())), atto_delta=0, who="bob")
    assert again == first
    assert ledger.status("visits").spent == 3 * 10**8
    one = answers(project, ledger, "visits", dict([next(iter(prices.items()))]), atto_delta=0, who="ann")
    assert one.answers[0] == answer(project, ledger, "visits", parse(texts[0]), price=dp.Price.pure(10**8), who="bob")
    assert ledger.status("visits").spent == 4 * 10**8
    ledger.close()


def test_a_question_that_the_policy_does_not_allow_costs_nothing_and_reads_nothing(project: Project) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    with project.engine.begin() as connection:
        connection.execute(text("DROP TABLE visit"))
    for question in ("sum(year)", "count(*) by year", "mean(diagnosis)", "count(*) where nobody = 1"):
        with pytest.raises(QuestionError):
            answer(project, ledger, "visits", parse(question), price=dp.Price.pure(1), who="ann")
    assert ledger.status("visits").spent == 0


@pytest.fixture
def silent(project: Project) -> Iterator[list[str]]:
    """What is sent to any database."""
    sent: list[str] = []

    def noted(_c: object, _k: object, statement: str, *_: object) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", noted)
    yield sent
    event.remove(Engine, "before_cursor_execute", noted)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("question", "parameter"),
    [
        ("sum(year)", "column: year has no bounds"),
        ("mean(site)", "column: site has no bounds"),
        ("variance(year)", "column: year has no bounds"),
        ("median(year)", "column: year has no bounds"),
        ("quantile(year * 2, 0.9)", r"expression: year \* 2 has no bounds"),
        ("histogram(year)", "histogram: year has no edges"),
        ("count(*) by year", "by: year has no declared groups"),
        ("top(4) by site", "top: there are 3 groups"),
        ("count(*) where site = 1 and site = 2", "where: no row can meet"),
    ],
)
def test_k19_07_what_is_not_declared_is_refused_by_name_before_anything_is_read(
    project: Project, silent: list[str], question: str, parameter: str
) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    silent.clear()
    with pytest.raises(QuestionError, match=parameter):
        answer(project, ledger, "visits", parse(question), price=dp.Price.pure(10**8), who="ann")
    assert not silent
    assert ledger.status("visits").spent == 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "x", True, None, 5e-324])
def test_k19_05_a_bad_epsilon_is_refused_by_name_and_no_sql_is_sent(
    project: Project, silent: list[str], epsilon: Any
) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    silent.clear()
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.Price.pure(dp.parse_epsilon(epsilon))
    for price in (1, None, dp.Price.approximate(10**8, 1)):
        with pytest.raises(dp.ParameterError, match="price"):
            answer(project, ledger, "visits", parse("count(*)"), price=price, who="ann")  # type: ignore[arg-type]
    with pytest.raises(dp.ParameterError, match="epsilon: this question shares it among 3 parts"):
        answer(project, ledger, "visits", parse("variance(spending)"), price=dp.Price.pure(2), who="ann")
    assert not silent
    assert ledger.status("visits").spent == 0


def test_a_column_that_the_database_has_not_is_told_before_anything_is_charged(project: Project) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    with project.engine.begin() as connection:
        connection.execute(text("ALTER TABLE visit DROP COLUMN spending"))
    with pytest.raises(PolicyError, match=r"spending.*visit"):
        answer(project, ledger, "visits", parse("sum(spending)"), price=dp.Price.pure(1), who="ann")
    assert ledger.status("visits").spent == 0
    answer(project, ledger, "visits", parse("count(*)"), price=dp.Price.pure(1), who="ann")


def test_batches_do_not_change_which_rows_count(project: Project) -> None:
    question, rules = parse("sum(spending)"), project.policy.dataset["visits"]
    table, live = project.table("visit"), project.opened.keyring.warm()
    sums = set()
    for size in (1, 7, 10_000):
        scan = Scan(project.engine, table, project.fields(table), ("person", "spending"), live, rows_a_batch=size)
        asked = dp_question(project.policy, "visits", question)
        bounded = asked.bound(chunks(scan, project.policy, rules, question, b"salt"), b"salt")
        sums.add(int(np.sum(bounded.value)))
    assert len(sums) == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("column", ["spending", "site", "year", "person"])
def test_text_that_is_no_utf8_is_dropped_like_any_other_value_that_does_not_fit(project: Project, column: str) -> None:
    before = totals(project, "count(*) where spending >= 0 by site")
    with project.engine.begin() as connection:
        connection.execute(text(f"UPDATE visit SET {column} = CAST(x'ff' AS TEXT) WHERE person = 3"))
    assert totals(project, "count(*) where spending >= 0 by site") == ((before[0][0] - 1, *before[0][1:]),)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("odd", [[1], {}, bytearray(b"1"), b"1", True, 1.0, math.nan, "1"])
def test_a_group_of_another_type_than_declared_is_dropped_whatever_the_driver_gives(project: Project, odd: Any) -> None:
    """A database may hold other things than the policy says; some of them cannot even be looked up."""

    class OneBatch:
        def batches(self) -> Iterator[Batch]:
            yield Batch({"person": [1, 2], "site": [1, odd]}, [[1, 2], [1, 1]], 0)

    rules, question = project.policy.dataset["visits"], parse("count(*) by site")
    (chunk,) = chunks(OneBatch(), project.policy, rules, question, b"salt")  # type: ignore[arg-type]
    assert chunk.group.tolist() == [0]


PART = st.integers(-(2**63) - 1, 2**63) | st.text(max_size=3) | st.booleans() | st.none() | st.floats()


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[PART] * width), min_size=1, max_size=8)))
def test_which_rows_count_hangs_on_each_row_s_own_key_whatever_the_others_are(keys: list[tuple[Any, ...]]) -> None:
    ties = ties_of([list(column) for column in zip(*keys, strict=True)], b"salt").tolist()
    assert ties == [int(ties_of([[part] for part in key], b"salt")[0]) for key in keys]
    for key, tie in zip(keys, ties, strict=True):
        if all(type(part) is int and -(2**63) <= part < 2**63 for part in key):
            own = integer_row_ties(b"salt", *(np.array([part]) for part in key))
        else:
            own = row_ties(b"salt", key_bytes([[part] for part in key]))
        assert [tie] == own.tolist()


def test_no_rows_have_no_ties() -> None:
    assert ties_of([[], []], b"salt").tolist() == []


def test_another_keyring_does_not_spend_from_this_ones_ledger(project: Project, tmp_path: Path) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    policy = tmp_path / "noisevault.toml"
    policy.write_text(policy.read_text().replace("[vault]", '[vault]\nkeyring = "others"'))
    Keyring.create(project.opened.key_store, open_provider(f"local:{tmp_path / 'kek'}"), "others")
    others = Project.open(Policy.load(policy), ProviderSettings())
    with pytest.raises(AuditError):
        answer(
            others,
            open_ledger(others.policy, others.opened.keyring),
            "visits",
            parse("count(*)"),
            price=dp.Price.pure(1),
            who="ann",
        )
    assert ledger.status("visits").spent == 0
    ledger.verify_audit()


def test_a_column_of_another_type_makes_another_question(project: Project, tmp_path: Path) -> None:
    rules, question = tmp_path / "noisevault.toml", parse("count(*) where site > 0")
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    answer(project, ledger, "visits", question, price=dp.Price.pure(1), who="ann")
    text_of = rules.read_text().replace("groups.site = [1, 2, 3]", "")
    for spent, kind, unit in ((1, "int", "int"), (2, "float", "int"), (3, "float", "str"), (3, "float", "str")):
        text_of = text_of.replace('person = { type = "int" }', f'person = {{ type = "{unit}" }}')
        rules.write_text(text_of.replace('site = { type = "int" }', f'site = {{ type = "{kind}" }}'))
        changed = replace(project, policy=Policy.load(rules))
        answer(changed, ledger, "visits", question, price=dp.Price.pure(1), who="ann")
        assert ledger.status("visits").spent == spent


def test_a_field_that_is_read_from_its_plaintext_is_not_asked_and_nothing_is_charged(tmp_path: Path) -> None:
    """Its sealed values are not all there yet: the answer would be another."""
    path = write_policy(tmp_path)
    spending = 'spending = { type = "float", sealed = true'
    path.write_text(path.read_text().replace(spending, f'{spending}, migrating = "old_spending"'), encoding="utf-8")
    create_key_file(tmp_path / "kek")
    project = Project.create(Policy.load(path), ProviderSettings())
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    with pytest.raises(PolicyError, match=r"visit\.spending is read from its plaintext.*dual-read-sealed"):
        answer(project, ledger, "visits", parse("mean(spending)"), price=dp.Price.pure(10**8), who="ann")
    assert ledger.status("visits").spent == 0
    assert answer(project, ledger, "visits", parse("count()"), price=dp.Price.pure(10**8), who="ann")
    subject = Subject("visit", "spending", "")
    keyring = project.opened.keyring
    set_phase(project.opened.key_store, keyring, subject, Phase.DUAL_ASK_NEW, old=PLAINTEXT, new=SEALED)
    assert answer(project, ledger, "visits", parse("mean(spending)"), price=dp.Price.pure(10**8), who="ann")
    project.engine.dispose()
