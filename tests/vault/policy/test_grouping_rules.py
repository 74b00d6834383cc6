import pytest

from tests.vault.policy.example import faults_after


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("groups = { site", "groups = { city"), "groups.city: there is no column city; name one of: person"),
        (("groups = { site", "groups = { age"), "groups.age: a float column cannot be grouped by"),
        (('plan = ["a", "b"]', "plan = [1]"), "groups.plan: the column is str; write labels of that type"),
        (("site = [1, 2, 3, 4, 5, 6]", f"site = [{2**63}]"), "groups.site: a label is outside 64 bits"),
        (("unknown.email", "unknown.city"), "unknown.city: there is no column city"),
        (("unknown.email", "unknown.age"), "unknown.age: a float column cannot be grouped by"),
        (("unknown.email", "unknown.site"), "unknown.site: its groups are declared in groups.site"),
        (("unknown.email", "unknown.person"), "unknown.person: a group of one person is that person"),
        (('delta = "1e-6"', 'delta = "0.00000501"'), "unknown.email: half of lifetime_delta is for questions' deltas"),
        (("{ spending = [0", "{ city = [0"), "edges.city: there is no column or expression city; name one of: person"),
        (("{ spending = [0", "{ age = [0"), "edges.age: a histogram needs bounds, beyond which no value lies; declare"),
        (("visits = [0, 5, 20]", "visits = [0, 5.5, 20]"), "edges.visits: each edge is a multiple of the step"),
        (("a_visit = [0, 10, 500]", 'a_visit = [0, "0.05", 500]'), "edges.a_visit: each edge is a multiple of the"),
        (("visits = [0, 5, 20]", "visits = [1, 5, 20]"), "edges.visits: the first and the last edge are the bounds"),
        (("visits = [0, 5, 20]", "visits = [0, 5, 19]"), "edges.visits: the first and the last edge are the bounds"),
    ],
)
def test_a_contradiction_names_its_key_and_what_to_do(change: tuple[str, str], fault: str) -> None:
    (found,) = faults_after(change)
    assert found.startswith(f"dataset.rand.{fault}")


@pytest.mark.parametrize("written", ["[]", "1", "[1]", "[1, 1]", "[2, 1]", '["a"]', "[true]", "[[1]]"])
def test_edges_are_numbers_in_order(written: str) -> None:
    (found,) = faults_after(("visits = [0, 5, 20]", f"visits = {written}"))
    assert found.startswith("dataset.rand.edges.visits: expected ") or "stand in order" in found
