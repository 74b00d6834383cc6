import pytest

from tests.vault.policy.example import faults_after

COLUMN = "table.person_year.column"
EMAIL = 'email = { type = "str", sealed = true, bind = ["person", "year"]'


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('key = ["person", "year"]', 'key = ["person", "day"]'), "table.person_year.key: there is no column day; "),
        (('key = ["person", "year"]', 'key = ["email"]'), "table.person_year.key: email is sealed"),
        (('key = ["person", "year"]', 'key = ["person", "year", "age"]'), "table.person_year.key: age is a float"),
        (
            ('key = ["person", "year"]', 'key = ["person", "year", "year"]'),
            "table.person_year.key: a column stands twice",
        ),
        (('person = { type = "int" }', 'person = { type = "int", nullable = true }'), f"{COLUMN}.person.nullable: "),
        (('site = { type = "int" }', 'site = { type = "int", index = {} }'), f"{COLUMN}.site.index: only a sealed"),
        (('site = { type = "int" }', 'site = { type = "int", bind = ["year"] }'), f"{COLUMN}.site.bind: only a sealed"),
        (
            ('site = { type = "int" }', 'site = { type = "int", migrating = "old" }'),
            f"{COLUMN}.site.migrating: only a sealed",
        ),
        ((EMAIL, f'{EMAIL}, migrating = "site"'), f"{COLUMN}.email.migrating: site is declared here too"),
        ((EMAIL, EMAIL.replace('"year"', '"day"')), f"{COLUMN}.email.bind: there is no column day"),
        ((EMAIL, EMAIL.replace('"year"', '"visits"')), f"{COLUMN}.email.bind: visits is sealed"),
        ((EMAIL, EMAIL.replace('"year"', '"person"')), f"{COLUMN}.email.bind: a column stands twice"),
        ((EMAIL, EMAIL.replace('"year"', '"site"')), f"{COLUMN}.email.bind: site may be NULL; "),
        ((EMAIL, EMAIL.replace('"year"', '"age"')), f"{COLUMN}.email.bind: age is a float"),
        ((EMAIL, EMAIL.replace('"str"', '"int"')), f"{COLUMN}.email.index.normalise: casefold is for str"),
        (('site = { type = "int" }', 'site = { type = "decimal" }'), f"{COLUMN}.site.type: not every database keeps"),
        (('site = { type = "int" }', 'site = { type = "datetime" }'), f"{COLUMN}.site.type: not every database keeps"),
        ((EMAIL, EMAIL.replace('"str"', '"date"')), f"{COLUMN}.email.index.normalise: casefold is for str"),
        (("site = {", "Year = {"), "table.person_year.column: year stands more than once"),
        (("plan = {", "EMAIL_bidx_b = {"), f"{COLUMN}.email.index: its terms are kept in email_bidx_b"),
    ],
)
def test_a_contradiction_names_its_key_and_what_to_do(change: tuple[str, str], fault: str) -> None:
    found = faults_after(change)
    assert any(line.startswith(fault) for line in found), found


def test_a_field_can_be_bound_to_a_column_that_is_never_null() -> None:
    change = (EMAIL, EMAIL.replace('"year"', '"site"'))
    assert not faults_after(change, ('site = { type = "int" }', 'site = { type = "int", nullable = false }'))


def test_an_exact_index_is_for_every_type() -> None:
    assert not faults_after(
        ('visits = { type = "int", sealed = true,', 'visits = { type = "int", sealed = true, index = {},')
    )


def test_contradictions_are_told_together() -> None:
    faults = faults_after(("person = {", "someone = {"))
    assert {fault.split(":")[0] for fault in faults} == {
        "table.person_year.key",
        f"{COLUMN}.email.bind",
        f"{COLUMN}.visits.bind",
        f"{COLUMN}.spending.bind",
        "dataset.rand.unit",
    }


@pytest.mark.parametrize("kind", ["bool", "date"])
def test_what_every_database_keeps_may_be_plain(kind: str) -> None:
    assert not faults_after(('photo = { type = "bytes" }', f'photo = {{ type = "{kind}" }}'))


@pytest.mark.parametrize("kind", ["bool", "decimal", "date", "datetime"])
def test_every_type_may_be_sealed_and_indexed(kind: str) -> None:
    few = "low_entropy = true" if kind == "bool" else ""
    change = f'photo = {{ type = "{kind}", sealed = true, bind = ["person"], index = {{ {few} }} }}'
    assert not faults_after(('photo = { type = "bytes" }', change))
