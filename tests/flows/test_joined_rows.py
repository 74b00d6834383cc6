"""A join that multiplies a person's rows: a dataset over such a view counts each person within its caps."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

import dp
from kms import ProviderSettings
from kms.providers.local import create_key_file
from tests.vault.without_noise import released_without_noise
from vault.policy import Policy
from vault.project import Project
from vault.question import QuestionTextError, parse

POLICY = """
[vault]
database = "{database}"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.purchase]
key = ["customer", "number"]
[table.purchase.column]
customer = {{ type = "int" }}
number = {{ type = "int" }}
amount = {{ type = "float" }}

[dataset.once]
table = "purchase"
unit = "customer"
rows_per_unit = 1
lifetime_epsilon = "1"
bounds.amount = {{ lower = 0, upper = 100, step = "0.01" }}

[dataset.seven]
table = "purchase"
unit = "customer"
rows_per_unit = 7
lifetime_epsilon = "1"
"""
TABLES = (
    "CREATE TABLE customer (id INTEGER PRIMARY KEY)",
    "CREATE TABLE bill (customer INTEGER, number INTEGER, amount FLOAT)",
    "CREATE VIEW purchase AS SELECT c.id AS customer, number, amount FROM customer c JOIN bill ON customer = c.id",
)


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        for statement in TABLES:
            connection.execute(text(statement))
        for customer in range(60):
            connection.execute(text(f"INSERT INTO customer VALUES ({customer})"))
            for number in range(7):
                connection.execute(text(f"INSERT INTO bill VALUES ({customer}, {number}, 10)"))
    engine.dispose()
    (tmp_path / "noisevault.toml").write_text(POLICY.format(database=database_url), encoding="utf-8")
    create_key_file(tmp_path / "kek")
    made = Project.create(Policy.load(tmp_path / "noisevault.toml"), ProviderSettings())
    yield made
    made.close()


def test_k20_07_a_person_s_joined_rows_count_as_often_as_the_noise_is_for(project: Project) -> None:
    once = released_without_noise(project, "once", "count(*)")
    assert ([group.value for group in once.groups], once.caps) == ([60], dp.Caps(1, 1))
    assert once.noise[0].scale == 1
    total = released_without_noise(project, "once", "sum(amount)")
    assert ([group.value for group in total.groups], total.noise[0].scale) == ([600], Fraction(100))
    seven = released_without_noise(project, "seven", "count(*)")
    assert ([group.value for group in seven.groups], seven.noise[0].scale) == ([420], 7)


@pytest.mark.parametrize(
    "question", ["count(*) join bill", "count(*) from customer", "sum(amount) where number = 1 join b"]
)
def test_k20_07_a_question_joins_nothing(question: str) -> None:
    with pytest.raises(QuestionTextError, match="joins none"):
        parse(question)
