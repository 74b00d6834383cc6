"""The exact figures of the RAND records come out of the whole path before the noise, wherever the caps do not bind."""

import csv
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import pvariance

import pytest

from kms import ProviderSettings
from kms.providers.local import create_key_file
from tests.vault.without_noise import released_without_noise, values_without_noise
from vault.demonstration.people import records
from vault.files.csv_file import numbered_rows
from vault.files.load import load
from vault.policy import Policy
from vault.project import Project

POLICY = """
[vault]
database = "sqlite:///health.db"
kek = "local:kek"

[table.person_year]
key = ["person", "year"]
[table.person_year.column]
person = { type = "int" }
year = { type = "int" }
site = { type = "int" }
plan = { type = "int" }
female = { type = "int", sealed = true, bind = ["person", "year"] }
income = { type = "float", sealed = true, bind = ["person", "year"] }
doctor_visits = { type = "int", sealed = true, bind = ["person", "year"] }
medical_spending = { type = "float", sealed = true, bind = ["person", "year"] }

[dataset.all]
table = "person_year"
unit = "person"
rows_per_unit = 5
groups_per_unit = 20
lifetime_epsilon = "3"
lifetime_delta = "1e-5"
bounds.doctor_visits = { lower = 0, upper = 20 }
bounds.medical_spending = { lower = 0, upper = 2000, step = "1e-7" }
edges.doctor_visits = [0, 1, 5, 20]
groups.site = [1, 2, 3, 4, 5, 6]
groups.plan = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 99]
unknown.year = { delta = "1e-6" }
expressions.share = { is = "medical_spending / income", lower = 0, upper = 1, step = "0.0001" }
expressions.cost = { is = "case when doctor_visits > 0 then medical_spending / doctor_visits else 0 end", lower = 0, \
upper = 500, step = "0.01" }

[dataset.wide]
table = "person_year"
unit = "person"
rows_per_unit = 5
lifetime_epsilon = "3"
bounds.doctor_visits = { lower = 0, upper = 1000 }

[dataset.two]
table = "person_year"
unit = "person"
rows_per_unit = 2
groups_per_unit = 6
lifetime_epsilon = "3"
groups.site = [1, 2, 3, 4, 5, 6]
"""
COLUMNS = ("person", "year", "site", "plan", "female", "income", "doctor_visits", "medical_spending")
ROWS = [{name: record[name] for name in COLUMNS} for record in records()]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("rand")
    (folder / "noisevault.toml").write_text(POLICY, encoding="utf-8")
    create_key_file(folder / "kek")
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(ROWS)
    made = Project.create(Policy.load(folder / "noisevault.toml"), ProviderSettings())
    table = made.policy.table["person_year"]
    assert load(made.engine, made.table("person_year"), numbered_rows(Path(folder / "people.csv"), table)) == 20_190
    yield made
    made.close()


def visits() -> list[int]:
    return [min(int(row["doctor_visits"]), 20) for row in ROWS]


def stepped(value: float, upper: int, steps: int) -> Fraction:
    """Clamped between 0 and upper, in 1/steps: multiplied in binary64, rounded half to even."""
    return Fraction(round(min(value * steps, float(upper * steps))), steps)


@pytest.mark.parametrize(
    ("dataset", "question", "values"),
    [
        ("all", "count(*)", [20_190]),
        ("all", "count_units(*)", [5_912]),
        ("all", "count_distinct(person)", [5_912]),
        ("all", "count(*) where female = 1", [10_439]),
        ("wide", "sum(doctor_visits)", [57_752]),
        ("all", "sum(doctor_visits)", [55_405]),
        ("all", "sum(medical_spending)", [Fraction("2850466.3060767")]),
        ("all", "count(*) by site", [4462, 4036, 2436, 3090, 2595, 3571]),
        ("two", "count(*)", [11_555]),
        ("all", "top(3) by site", [4462, 4036, 3571]),
        ("all", "count_distinct(plan)", [18]),
    ],
)
def test_the_figures_of_the_source_come_out_exactly(
    project: Project, dataset: str, question: str, values: list[int | Fraction]
) -> None:
    assert values_without_noise(project, dataset, question) == values


def test_every_capped_count_is_that_of_each_person_s_rows(project: Project) -> None:
    rows = Counter(row["person"] for row in ROWS)
    assert values_without_noise(project, "two", "count(*)") == [sum(min(n, 2) for n in rows.values())]
    assert values_without_noise(project, "two", "count_units(*)") == [len(rows)]
    by_site = Counter((row["person"], row["site"]) for row in ROWS)
    wanted = [sum(min(n, 2) for (_, at), n in by_site.items() if at == str(site)) for site in range(1, 7)]
    assert values_without_noise(project, "two", "count(*) by site") == wanted


def test_moments_are_those_of_the_clamped_values(project: Project) -> None:
    of = [Fraction(value) for value in visits()]
    (mean,) = values_without_noise(project, "all", "mean(doctor_visits)")
    (variance,) = values_without_noise(project, "all", "variance(doctor_visits)")
    (std,) = values_without_noise(project, "all", "std(doctor_visits)")
    assert mean == Fraction(55_405, 20_190)
    assert variance == pvariance(of)
    assert abs(std**2 - variance) < Fraction(1, 10**6)


def test_quantiles_and_bins_are_those_of_the_clamped_values(project: Project) -> None:
    of = sorted(visits())
    for question, level in (("low(doctor_visits)", 5), ("median(doctor_visits)", 50), ("high(doctor_visits)", 95)):
        assert values_without_noise(project, "all", question) == [of[len(of) * level // 100]]
    money = sorted(float(row["medical_spending"]) for row in ROWS)
    found = values_without_noise(project, "all", "quantile(medical_spending, 0.9, 0.5, 0.75)")
    for value, level in zip(found, (0.5, 0.75, 0.9), strict=True):
        assert abs(bisect_left(money, value) / len(money) - level) < 0.001
    bins = [sum(at <= value < up for value in of) for at, up in ((0, 1), (1, 5))]
    assert values_without_noise(project, "all", "histogram(doctor_visits)") == [*bins, len(of) - sum(bins)]


def test_groups_are_the_declared_ones_with_the_empty_ones(project: Project) -> None:
    rows = Counter(int(row["plan"]) for row in ROWS)
    plans = project.policy.dataset["all"].groups["plan"]
    assert values_without_noise(project, "all", "count(*) by plan") == [rows[int(plan)] for plan in plans]
    assert rows[99] == 0
    both = Counter((int(row["plan"]), int(row["site"])) for row in ROWS)
    pairs = project.policy.dataset["all"].group_labels(("plan", "site"))
    assert values_without_noise(project, "all", "count by site, plan") == [both[(int(a), int(b))] for a, b in pairs]


def test_groups_that_nobody_declared_are_told_where_enough_persons_are(project: Project) -> None:
    released = released_without_noise(project, "all", "count_units(*) by year")
    assert [group.key for group in released.groups] == [f"int:{year}".encode() for year in range(1, 6)]
    years = Counter(row["year"] for row in ROWS)
    assert [group.value for group in released.groups] == [years[str(year)] for year in range(1, 6)]


def test_an_expression_is_the_ieee_quotient_of_each_row(project: Project) -> None:
    pairs = [(float(row["medical_spending"]), float(row["income"])) for row in ROWS]
    quotients = [a / b if b else (math.inf if a else math.nan) for a, b in pairs]
    kept = [value for value in quotients if not math.isnan(value)]
    assert any(map(math.isinf, kept))
    assert len(kept) < len(quotients)
    (total,) = values_without_noise(project, "all", "sum(share)")
    assert total == sum(stepped(value, 1, 10_000) for value in kept)
    assert values_without_noise(project, "all", "sum(medical_spending/income)") == [total]
    assert values_without_noise(project, "all", "mean(share)") == [total / len(kept)]


def test_a_case_keeps_the_rows_that_a_division_would_drop(project: Project) -> None:
    costs = [
        float(row["medical_spending"]) / int(row["doctor_visits"]) if int(row["doctor_visits"]) else 0.0 for row in ROWS
    ]
    (total,) = values_without_noise(project, "all", "sum(cost)")
    assert total == sum(stepped(value, 500, 100) for value in costs)
    (mean,) = values_without_noise(project, "all", "mean(cost)")
    assert mean == total / 20_190
