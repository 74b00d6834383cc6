"""Shared sums: who joins brings along what was spent, and who leaves leaves it behind."""

from tests.vault.reporting.entries import NANO, at, charge, collected, lifetime, policy


def test_a_dataset_brings_along_what_it_spent_and_leaves_it_behind() -> None:
    entries = [
        policy(at(6, 1), NANO, "visits"),
        policy(at(6, 1), NANO, "stays"),
        charge(at(6, 2), 1, dataset="visits"),
        charge(at(7, 1), 2, dataset="stays"),
        lifetime(at(7, 2), 5, "visits"),
        charge(at(7, 3), 4, dataset="visits"),
        charge(at(7, 3), 8, dataset="stays"),
        lifetime(at(7, 4), 6, "visits", "stays"),
        charge(at(7, 5), 16, dataset="stays"),
        lifetime(at(7, 6), 6, "stays"),
        charge(at(7, 7), 32, dataset="visits"),
        lifetime(at(10, 1), 7, "visits"),
        charge(at(10, 2), 64, dataset="stays"),
    ]
    (shared,) = collected(entries).shared
    assert (shared.name, shared.datasets, shared.lifetime.limits.nano_epsilon) == ("all", ("stays",), 6)
    assert shared.spent.nano_epsilon == 4 + 16
    assert shared.until_end.nano_epsilon == 1 + 4 + (2 + 8) + 16
