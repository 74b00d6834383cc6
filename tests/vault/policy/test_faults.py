import pickle

import pytest

from tests.vault.policy.example import faults_after
from vault.errors import PolicyError
from vault.policy.faults import PolicyFaultsError, dotted


def test_a_place_is_written_as_one_writes_the_key() -> None:
    assert dotted(("table", "t", "key", 0)) == "table.t.key[0]"
    assert dotted(()) == "the policy"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("[vault]", "[vault]\nkeyrings = 1"), "vault.keyrings: unknown key; there are: database, keys, ledger,"),
        (("[vault]", "[vaults]\n[vault]"), "vaults: unknown key; there are: vault, table, dataset, lifetime"),
        (("key = [", "keys = 1\nkey = ["), "table.person_year.keys: unknown key; there are: key, column"),
        (
            ("site = { type", "site = { typ = 1, type"),
            "table.person_year.column.site.typ: unknown key; there are: type,",
        ),
        (
            ("normalise = ", 'kind = "a", normalise = '),
            "table.person_year.column.email.index.kind: unknown key; there are: n",
        ),
        (
            ('unit = "person"', 'epsilon = 1\nunit = "person"'),
            "dataset.rand.epsilon: unknown key; there are: table, unit, rows_per_unit",
        ),
        (
            ('step = "0.01"', 'width = 1, step = "0.01"'),
            "dataset.rand.bounds.spending.width: unknown key; there are: lower, upper",
        ),
    ],
)
def test_an_unknown_key_is_named_with_the_keys_there_are(change: tuple[str, str], fault: str) -> None:
    (found,) = faults_after(change)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('unit = "person"\n', ""), "dataset.rand.unit: is missing"),
        (
            ('site = { type = "int" }', 'site = { type = "money" }'),
            "table.person_year.column.site.type: expected 'int',",
        ),
        (
            ('site = { type = "int" }', "site = 1"),
            "table.person_year.column.site: expected a section of keys and values",
        ),
        (('key = ["person", "year"]', 'key = "person"'), "table.person_year.key: expected a list, such as [...]"),
        (('key = ["person", "year"]', "key = []"), "table.person_year.key: is empty"),
        (
            ('site = { type = "int" }', 'site = { type = "int", sealed = 1 }'),
            "table.person_year.column.site.sealed: expected true",
        ),
        (('unit = "person"', "unit = 1"), "dataset.rand.unit: expected text, in quotes"),
        (("site = {", '"a.b" = {'), "table.person_year.column.a.b: a name is letters"),
    ],
)
def test_a_wrong_shape_names_its_key_and_what_is_expected(change: tuple[str, str], fault: str) -> None:
    found = faults_after(change)
    assert any(line.startswith(fault) for line in found), found


def test_all_faults_are_told_a_line_each() -> None:
    faults = faults_after(
        ('unit = "person"\n', ""), ("rows_per_unit = 5", "rows_per_unit = 0"), ("[vault]", "[vault]\nx = 1")
    )
    assert len(faults) == 3
    assert str(PolicyFaultsError("a.toml", faults)).splitlines() == [f"a.toml: {fault}" for fault in faults]


def test_the_error_is_a_policy_error_and_pickles() -> None:
    error = PolicyFaultsError("a.toml", ["x: is missing"])
    assert isinstance(error, PolicyError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.faults) == (str(error), error.faults)
