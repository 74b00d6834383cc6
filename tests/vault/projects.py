"""Small projects for tests: a policy with one table of visits, made and opened in a folder."""

from pathlib import Path

from kms import ProviderSettings
from kms.providers.local import create_key_file
from vault.policy import Policy
from vault.project import Project

POLICY = """
[vault]
database = "{database}"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.visit]
key = ["person", "year"]
[table.visit.column]
person = {{ type = "int" }}
year = {{ type = "int" }}
site = {{ type = "int" }}
national_id = {{ type = "str", sealed = true, bind = ["person", "year"], index = {{ normalise = "digits" }} }}
diagnosis = {{ type = "str", sealed = true, bind = ["person", "year"] }}
spending = {{ type = "float", sealed = true, bind = ["person", "year"] }}

[dataset.visits]
table = "visit"
unit = "person"
rows_per_unit = 2
lifetime_epsilon = "1"
bounds.spending = {{ lower = 0, upper = 100, step = "0.01" }}
groups.site = [1, 2, 3]
edges.spending = [0, 15, 25, 100]
expressions.a_site = {{ is = "spending / site", lower = "0.0", upper = "50", step = "0.010" }}
"""


def write_policy(folder: Path, database_url: str = "sqlite:///application.db") -> Path:
    path = folder / "noisevault.toml"
    path.write_text(POLICY.format(database=database_url), encoding="utf-8")
    return path


def make_project(folder: Path, database_url: str = "sqlite:///application.db") -> Project:
    policy = Policy.load(write_policy(folder, database_url))
    create_key_file(folder / "kek")
    return Project.create(policy, ProviderSettings())


def visit(person: int, year: int = 1, **columns: object) -> dict[str, object]:
    """A row of the table; spending is 10 times the year unless said otherwise."""
    row: dict[str, object] = {
        "person": person,
        "year": year,
        "site": 1 + person % 3,
        "national_id": f"99-{person:05d}",
        "diagnosis": "asthma",
        "spending": 10.0 * year,
    }
    return row | columns
