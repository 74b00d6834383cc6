"""The policy that tests of policies and questions start from."""

from pathlib import Path

from vault.policy import Policy

EXAMPLE = """\
[vault]
database = "sqlite:///health.db"
kek = "local:health.kek"

[table.person_year]
key = ["person", "year"]
[table.person_year.column]
person = { type = "int" }
year = { type = "int" }
site = { type = "int" }
plan = { type = "str" }
age = { type = "float" }
photo = { type = "bytes" }
email = { type = "str", sealed = true, bind = ["person", "year"], index = { normalise = "casefold" } }
visits = { type = "int", sealed = true, bind = ["person", "year"] }
spending = { type = "float", sealed = true, bind = ["person", "year"] }

[dataset.rand]
table = "person_year"
unit = "person"
rows_per_unit = 5
lifetime_epsilon = "3"
lifetime_delta = "1e-5"
bounds = { spending = { lower = "0", upper = "2000", step = "0.01" }, visits = { lower = 0, upper = 20 } }
groups = { site = [1, 2, 3, 4, 5, 6], plan = ["a", "b"] }
edges = { spending = [0, 18.5, 2000], visits = [0, 5, 20], a_visit = [0, 10, 500] }
unknown.email = { delta = "1e-6" }
expressions.a_visit = { is = "spending / visits", lower = 0, upper = 500, step = "0.1" }
"""


def example_policy() -> Policy:
    return Policy.read(EXAMPLE, Path("/srv/health"))


def policy_after(*changes: tuple[str, str]) -> Policy:
    """The example once each `before` in it reads `after`."""
    return Policy.read(_changed(changes), Path("/srv/health"))


def faults_after(*changes: tuple[str, str]) -> tuple[str, ...]:
    """The faults of the example once each `before` in it reads `after`."""
    from vault.policy import PolicyFaultsError

    try:
        policy_after(*changes)
    except PolicyFaultsError as error:
        return error.faults
    return ()


def _changed(changes: tuple[tuple[str, str], ...]) -> str:
    text = EXAMPLE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text
