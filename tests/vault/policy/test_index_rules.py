import pytest
from sqlalchemy import Table

from tests.vault.policy.example import faults_after, policy_after
from vault.mapping.definitions import all_term_columns, definition_of
from vault.schema import tables
from vault.terms.term import BlindIndex

COLUMN = "table.person_year.column.email"
EMAIL = 'index = { normalise = "casefold" }'
VISITS = 'visits = { type = "int", sealed = true,'
SECTION = "[dataset.rand]"


def over(columns: str, more: str = "") -> tuple[str, str]:
    return SECTION, f"[table.person_year.index]\nboth = {{ columns = {columns}{more} }}\n{SECTION}"


BOTH = "table.person_year.index.both"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ((EMAIL, "index = [{}, {}]"), f"{COLUMN}.index: two indexes have one name"),
        ((EMAIL, "index = []"), f"{COLUMN}.index: is empty"),
        ((EMAIL, "index = { bits = 0 }"), f"{COLUMN}.index.bits: "),
        ((EMAIL, "index = [{ bits = 257 }]"), f"{COLUMN}.index[0].bits: "),
        ((EMAIL, "index = [{ bit = 8 }]"), f"{COLUMN}.index[0].bit: unknown key; there are: normalise, name, bits"),
        ((EMAIL, 'index = { normalise = "year" }'), f"{COLUMN}.index.normalise: year is for date and datetime"),
        ((EMAIL, 'index = { region = "GB" }'), f"{COLUMN}.index.region: "),
        ((EMAIL, f'index = {{ name = "{"x" * 56}" }}'), f"{COLUMN}.index.name: its terms are kept in email_xxx"),
        ((VISITS, f'{VISITS} index = {{ normalise = "email" }},'), "table.person_year.column.visits.index.normalise: "),
        (
            (VISITS, VISITS.replace('"int"', '"bool"') + " index = {},"),
            "table.person_year.column.visits.index: a bool has two values",
        ),
        (over('["email"]'), f"{BOTH}.columns: "),
        (over('["email", "site"]'), f"{BOTH}.columns: site is plain"),
        (over('["email", "mail"]'), f"{BOTH}.columns: there is no column"),
        (over('["email", "email"]'), f"{BOTH}.columns: a column stands twice"),
        (over('["email", "visits"]', ', normalise = { visits = "digits" }'), f"{BOTH}.normalise.visits: digits is for"),
        (over('["email", "visits"]', ', normalise = { site = "exact" }'), f"{BOTH}.normalise.site: is none of the"),
        (over('["email", "visits"]', ', normalise = { email = "phone" }'), f"{BOTH}.normalise.email: phone needs a"),
        (over('["email", "visits"]', ", column = 1"), f"{BOTH}.column: unknown key; there are: columns"),
    ],
)
def test_a_contradiction_names_its_key(change: tuple[str, str], fault: str) -> None:
    found = faults_after(change)
    assert any(line.startswith(fault) for line in found), found


def test_columns_that_share_an_index_have_to_make_their_terms_alike() -> None:
    shared = (VISITS, f'{VISITS} index = {{ scope = "who" }},')
    assert not faults_after(shared)
    found = faults_after(shared, (EMAIL, 'index = { scope = "who" }'))
    assert [line.partition(":")[0] for line in found] == ["table.person_year.column.visits.index.scope"]


def test_the_policy_says_what_a_mapped_class_would() -> None:
    several = (
        'index = [{ normalise = "email", scope = "who" }, { name = "rough", bits = 12, slow = true },'
        ' { name = "at", normalise = "domain" }]'
    )
    policy = policy_after((EMAIL, several), over('["email", "visits"]', ", unique = true"))
    table: Table = tables(policy).tables["person_year"]
    assert definition_of(table.c.email).indexes[1] == BlindIndex(bits=12, name="rough", slow=True)
    assert [(i.name, i.normaliser.id, i.bits, i.scope) for i in definition_of(table.c.email).indexes] == [
        ("bidx", "email/1", 256, "who"),
        ("rough", "exact/1", 12, None),
        ("at", "domain/1", 256, None),
    ]
    assert [column.name for column in all_term_columns(table)][-2:] == ["both_a", "both_b"]
    assert table.c.both_a.unique
