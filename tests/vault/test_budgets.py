"""The policy's budgets in a real ledger: declared when new, changed only with a reason, told where they differ."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from dp.errors import ParameterError
from dp.ledger import Ledger
from dp.ledger.errors import SoftLimitError
from tests.vault.projects import make_project, write_policy
from vault.budgets import apply_budgets, budgets_that_differ, copies_of, declare_budgets
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project

SOURCES = {"visits": "ab" * 32, "again": "ab" * 32}
AGAIN = '\n[dataset.again]\ntable = "visit"\nunit = "person"\nrows_per_unit = 1\nlifetime_epsilon = "0.5"\n'
SHARED = '\n[lifetime.persons]\ndatasets = ["visits", "again"]\nepsilon = "1.2"\n'


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = make_project(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ledger(project: Project) -> Iterator[Ledger]:
    opened = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(opened, project.policy, SOURCES)
    yield opened
    opened.close()


def policy(folder: Path, before: str = "", after: str = "", more: str = "") -> Policy:
    path = write_policy(folder)
    path.write_text(path.read_text().replace(before, after) + more)
    return Policy.load(path)


def places(ledger: Ledger, policy: Policy, reason: str = "asked for", *, accept: bool = False) -> list[str]:
    return [place for place, said in apply_budgets(ledger, policy, SOURCES, reason=reason, accept=accept) if said]


def test_what_is_new_is_declared_and_what_is_there_stays(ledger: Ledger, project: Project, tmp_path: Path) -> None:
    assert budgets_that_differ(ledger, project.policy, SOURCES) == []
    changed = policy(tmp_path, '"1"', '"2"', more=AGAIN + SHARED)
    declare_budgets(ledger, changed)
    assert ledger.budgets("visits").lifetime_nano == 10**9
    assert ledger.budgets("again").lifetime_nano == 5 * 10**8
    assert [one.name for one in ledger.shared_lifetimes("again")] == ["persons"]
    assert budgets_that_differ(ledger, changed) == ["dataset.visits"]
    declare_budgets(ledger, changed)
    assert budgets_that_differ(ledger, changed) == ["dataset.visits"]


def test_a_change_is_applied_with_its_reason_and_once(ledger: Ledger, tmp_path: Path) -> None:
    changed = policy(tmp_path, '"1"', '"2"\nbudget.day = "0.5"', more=AGAIN + SHARED)
    with pytest.raises(ParameterError, match="say why it changes"):
        places(ledger, changed, reason=" ")
    assert ledger.budgets("visits").lifetime_nano == 10**9
    assert places(ledger, changed) == ["dataset.visits", "dataset.again", "lifetime.persons"]
    assert [one.span for one in ledger.budgets("visits").scopes] == ["day"]
    assert places(ledger, changed) == []
    assert budgets_that_differ(ledger, changed, SOURCES) == []


def test_more_than_the_soft_limit_is_accepted_or_not_done(ledger: Ledger, tmp_path: Path) -> None:
    changed = policy(tmp_path, 'lifetime_epsilon = "1"', 'lifetime_epsilon = "11"')
    with pytest.raises(SoftLimitError):
        places(ledger, changed)
    assert budgets_that_differ(ledger, changed, SOURCES) == ["dataset.visits"]
    assert places(ledger, changed, accept=True) == ["dataset.visits"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('epsilon = "1"', 'epsilon = "1"\nlifetime_delta = "1e-6"'),
        ('epsilon = "1"', 'epsilon = "1"\nmost_epsilon = "0.5"'),
        ('epsilon = "1"', 'epsilon = "1"\ncolumn.spending = { week = "0.1" }'),
        ('epsilon = "1"', 'epsilon = "1"\nseparate_budget = "rows of other persons"'),
    ],
)
def test_each_difference_is_told(ledger: Ledger, tmp_path: Path, before: str, after: str) -> None:
    changed = policy(tmp_path, before, after)
    assert budgets_that_differ(ledger, changed) == ["dataset.visits"]
    assert places(ledger, changed) == ["dataset.visits"]
    assert budgets_that_differ(ledger, changed) == []


def test_a_dataset_that_the_ledger_does_not_know_differs(ledger: Ledger, tmp_path: Path) -> None:
    assert budgets_that_differ(ledger, policy(tmp_path, more=AGAIN)) == ["dataset.again"]


def test_limits_of_an_earlier_version_differ_at_the_same_lifetime(ledger: Ledger, tmp_path: Path) -> None:
    changed = policy(tmp_path, 'epsilon = "1"', 'epsilon = "1"\nlifetime_delta = "1e-6"')
    places(ledger, changed)
    engine = create_engine(f"sqlite:///{tmp_path}/ledger.db")
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_budget SET lifetime_nano_rho = 0"))
    assert budgets_that_differ(ledger, changed) == ["dataset.visits"]
    assert places(ledger, changed) == ["dataset.visits"]


def test_another_source_differs_where_sources_are_compared(ledger: Ledger, project: Project) -> None:
    moved = {"visits": "cd" * 32}
    assert budgets_that_differ(ledger, project.policy) == []
    assert budgets_that_differ(ledger, project.policy, moved) == ["dataset.visits"]
    declare_budgets(ledger, project.policy, moved)
    assert ledger.budgets("visits").source == "ab" * 32


def test_a_source_that_was_not_known_is_recorded_when_it_is(project: Project) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    assert ledger.budgets("visits").source == ""
    declare_budgets(ledger, project.policy, SOURCES)
    assert ledger.budgets("visits").source == "ab" * 32
    ledger.close()


def test_k24_07_copies_are_warned_of_each_time_and_named(ledger: Ledger, tmp_path: Path) -> None:
    both = policy(tmp_path, more=AGAIN)
    (warning,) = declare_budgets(ledger, both, SOURCES)
    assert "dataset 'again' has the rows of 'visits'" in warning
    assert len(declare_budgets(ledger, both, SOURCES)) == 2
    assert (copies_of(ledger, "visits"), copies_of(ledger, "again")) == (("again",), ("visits",))
    apart = policy(tmp_path, more=AGAIN + 'separate_budget = "rows of other persons"\n')
    assert places(ledger, apart) == ["dataset.again"]
    assert copies_of(ledger, "visits") == copies_of(ledger, "again") == ()
    assert declare_budgets(ledger, apart, SOURCES) == []


def test_a_shared_lifetime_changes_and_is_left_when_the_policy_leaves_it_out(ledger: Ledger, tmp_path: Path) -> None:
    apart = 'separate_budget = "rows of other persons"\n'
    both = policy(tmp_path, more=AGAIN + apart + SHARED)
    declare_budgets(ledger, both, SOURCES)
    lower = policy(tmp_path, more=AGAIN + apart + SHARED.replace("1.2", "1.1"))
    assert budgets_that_differ(ledger, lower) == ["lifetime.persons"]
    assert places(ledger, lower) == ["lifetime.persons"]
    without = policy(tmp_path, more=AGAIN + apart)
    assert budgets_that_differ(ledger, without) == ["lifetime.persons"]
    assert places(ledger, without) == ["lifetime.persons"]
    assert ledger.shared_lifetimes("visits") == ()
    assert budgets_that_differ(ledger, without) == []
    declare_budgets(ledger, lower, SOURCES)
    assert budgets_that_differ(ledger, lower) == ["lifetime.persons"], "it was there, so that a reason is needed"
    assert places(ledger, lower) == ["lifetime.persons"]


def test_nothing_is_declared_by_looking(project: Project, tmp_path: Path) -> None:
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    before = ledger.head()
    budgets_that_differ(ledger, policy(tmp_path, more=AGAIN + SHARED), SOURCES)
    copies_of(ledger, "visits")
    assert ledger.head() == before
    ledger.close()
