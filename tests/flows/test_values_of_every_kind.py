"""What a sealed column holds comes through the whole path as the policy says, whatever it is, on each database."""

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import insert

from kms import ProviderSettings
from kms.providers.local import create_key_file
from tests.vault.without_noise import released_without_noise, values_without_noise
from vault.policy import Policy
from vault.project import Project

POLICY = """
[vault]
database = "{database}"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.visit]
key = ["person", "number"]
[table.visit.column]
person = {{ type = "int" }}
number = {{ type = "int" }}
ward = {{ type = "str" }}
amount = {{ type = "float", sealed = true, bind = ["person", "number"] }}
large = {{ type = "int", sealed = true, bind = ["person", "number"] }}
"""
DATASET = """
[dataset.rows{rows}]
table = "visit"
unit = "person"
rows_per_unit = {rows}
groups_per_unit = 3
lifetime_epsilon = "1"
bounds.amount = {{ lower = 0, upper = 100, step = "0.01" }}
bounds.large = {{ lower = 0, upper = {upper} }}
groups.ward = ["a", "b", "zz"]
expressions.share = {{ is = "amount / large", lower = -10, upper = 10, step = "0.01" }}
"""


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    datasets = "".join(DATASET.format(rows=rows, upper=2**62) for rows in (1, 2, 4))
    (tmp_path / "noisevault.toml").write_text(POLICY.format(database=database_url) + datasets, encoding="utf-8")
    create_key_file(tmp_path / "kek")
    made = Project.create(Policy.load(tmp_path / "noisevault.toml"), ProviderSettings())
    yield made
    made.close()


def put(project: Project, rows: list[dict[str, object]]) -> None:
    """Rows, each of a person of its own unless it says whose it is."""
    empty = {"number": 0, "ward": "a", "amount": None, "large": None}
    with project.engine.begin() as connection:
        connection.execute(
            insert(project.table("visit")), [{"person": at} | empty | row for at, row in enumerate(rows)]
        )


def test_k19_01_nan_is_dropped_and_infinities_are_clamped(project: Project) -> None:
    put(project, [{"amount": value} for value in (10.0, math.nan, math.inf, -math.inf, 50.0, None)])
    assert values_without_noise(project, "rows1", "sum(amount)") == [160]
    assert values_without_noise(project, "rows1", "mean(amount)") == [40]
    (group,) = released_without_noise(project, "rows1", "variance(amount)").groups
    assert {part.name: part.value for part in group.parts}["count"] == 4


def test_k19_03_a_sum_beyond_64_bits_is_exact(project: Project) -> None:
    put(project, [{"large": 2**62}] * 3)
    assert values_without_noise(project, "rows1", "sum(large)") == [3 * 2**62]
    assert values_without_noise(project, "rows1", "mean(large)") == [2**62]


def test_k20_03_the_declared_groups_answer_and_no_other(project: Project) -> None:
    put(project, [{"ward": ward} for ward in ("a", "b", "b", "c")])
    answer = released_without_noise(project, "rows1", "count(*) by ward")
    assert [group.value for group in answer.groups] == [1, 2, 0]


def test_k20_05_the_cap_says_how_many_rows_of_a_person_count_and_how_much_noise_there_is(project: Project) -> None:
    put(project, [{"person": p, "number": n} for p in range(1000) for n in range(1 + p % 4)])
    for rows, counted in ((1, 1000), (2, 1750), (4, 2500)):
        answer = released_without_noise(project, f"rows{rows}", "count(*)")
        assert ([group.value for group in answer.groups], answer.noise[0].scale) == ([counted], rows)


def test_an_expression_of_sealed_columns_drops_what_is_no_number_and_clamps_what_is_infinite(project: Project) -> None:
    pairs = [(10.0, 4), (1.0, 0), (-1.0, 0), (0.0, 0), (math.nan, 1), (1.0, None), (None, 1), (-3.0, 2)]
    put(project, [{"amount": amount, "large": large} for amount, large in pairs])
    assert values_without_noise(project, "rows1", "sum(share)") == [Fraction("2.5") + 10 - 10 - Fraction("1.5")]
    (group,) = released_without_noise(project, "rows1", "mean(amount / large)").groups
    assert {part.name: part.value for part in group.parts}["count"] == 4


def test_different_values_are_told_apart_and_no_number_is_none(project: Project) -> None:
    put(project, [{"amount": value} for value in (0.0, -0.0, 1.5, 1.5, math.nan, math.inf, None)])
    assert values_without_noise(project, "rows1", "count_distinct(amount)") == [3]
    assert values_without_noise(project, "rows1", "count_distinct(ward)") == [1]
