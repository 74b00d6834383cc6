"""What an operator may declare of a dataset."""

import pytest

from dp.errors import ParameterError
from dp.ledger.limits.budget import MAX_LIFETIME_NANO
from dp.ledger.limits.budgets import Budgets, Scope

DIGEST = "0123456789abcdef" * 4
GROUP = Scope("group", "interns", "week", 5)


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        (("table", "", "day", 1), "kind"),
        ((None, "", "day", 1), "kind"),
        (("dataset", "", "year", 1), "span"),
        (("dataset", "", "", 1), "span"),
        (("dataset", "people", "day", 1), "scope"),
        (("dataset", "", "ever", 1), "scope"),
        (("column", "", "day", 1), "subject"),
        (("group", "", "day", 1), "subject"),
        (("analyst", " ann", "day", 1), "subject"),
        (("analyst", "x" * 191, "day", 1), "subject"),
        *((("analyst", "ann", "day", cap), "cap_nano") for cap in (-1, MAX_LIFETIME_NANO + 1, True, 1.0, None)),
    ],
    ids=str,
)
def test_a_scope_that_is_none_is_refused(parts: tuple[str, str, str, int], field: str) -> None:
    with pytest.raises(ParameterError, match=f"^{field}: "):
        Scope(*parts)


def test_a_scope_may_be_of_every_analyst_and_of_nothing() -> None:
    assert Scope("analyst", "", "ever", 0).key == ("analyst", "", "ever")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"lifetime_nano": 0}, "lifetime_nano"),
        ({"lifetime_atto_delta": -1}, "lifetime_atto_delta"),
        ({"scopes": [GROUP]}, "scopes"),
        ({"scopes": (GROUP, None)}, "scopes"),
        ({"scopes": (GROUP, Scope("group", "interns", "week", 6))}, "scopes"),
        ({"scopes": (GROUP,), "members": [("interns", "ann")]}, "members"),
        ({"scopes": (GROUP,), "members": ("interns",)}, "members"),
        ({"scopes": (GROUP,), "members": (("interns",),)}, "members"),
        ({"scopes": (GROUP,), "members": (("interns", ""),)}, "members"),
        ({"scopes": (GROUP,), "members": (("interns", "ann"), ("interns", "ann"))}, "members"),
        ({"scopes": (GROUP,), "members": (("others", "ann"),)}, "members"),
        *(({name: value}, name) for name in ("least_nano", "most_nano") for value in (-1, 10**18 + 1, True, None)),
        ({"least_nano": 2, "most_nano": 1}, "least_nano"),
        *(({"source": source}, "source") for source in (DIGEST.upper(), DIGEST[1:], f"{DIGEST}\n", None)),
        *(({"separate": separate}, "separate") for separate in (" why", "x" * 191, "a\nb", None)),
    ],
    ids=str,
)
def test_budgets_that_are_none_are_refused_and_the_field_is_named(fields: dict[str, object], field: str) -> None:
    with pytest.raises(ParameterError, match=f"^{field}: "):
        Budgets(**{"lifetime_nano": 10, **fields})  # type: ignore[arg-type]


def test_the_order_in_which_they_are_declared_makes_no_other_budgets() -> None:
    scopes = (Scope("dataset", "", "week", 3), Scope("dataset", "", "day", 1), GROUP)
    members = (("interns", "bob"), ("interns", "ann"))
    made = Budgets(10, scopes=scopes, members=members, least_nano=1, most_nano=1, source=DIGEST, separate="a sample")
    assert made == Budgets(
        10, 0, scopes[::-1], members[::-1], least_nano=1, most_nano=1, source=DIGEST, separate="a sample"
    )
    assert Budgets(10, least_nano=5).most_nano == 0


@pytest.mark.parametrize(
    ("scopes", "yearly"),
    [
        ((), 1000),
        ((Scope("dataset", "", "day", 1),), 365),
        ((Scope("dataset", "", "day", 3), Scope("dataset", "", "week", 2)), 104),
        ((Scope("dataset", "", "month", 5), Scope("dataset", "", "quarter", 1000)), 60),
        ((Scope("dataset", "", "quarter", 251),), 1000),
        ((Scope("analyst", "", "day", 1), Scope("column", "age", "ever", 1)), 1000),
    ],
)
def test_what_a_year_may_cost_is_the_least_that_all_together_are_allowed(
    scopes: tuple[Scope, ...], yearly: int
) -> None:
    assert Budgets(1000, scopes=scopes).yearly_nano == yearly
