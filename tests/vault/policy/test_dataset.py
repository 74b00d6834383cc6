from datetime import timedelta
from fractions import Fraction

import pytest

from dp.grid import Grid
from tests.vault.policy.example import example_policy, faults_after, policy_after
from vault.policy import Bounds


def test_lifetime_epsilon_is_kept_in_nano_epsilon() -> None:
    assert example_policy().dataset["rand"].lifetime_nano == 3 * 10**9


def test_without_a_lifetime_delta_there_is_none_and_a_written_one_is_exact() -> None:
    assert example_policy().dataset["rand"].lifetime_atto_delta == 10**13
    without = policy_after(('lifetime_delta = "1e-5"\n', ""), ('unknown.email = { delta = "1e-6" }\n', ""))
    assert without.dataset["rand"].lifetime_atto_delta == 0


@pytest.mark.parametrize("written", ["1", '"1"', "-1", '"1e-19"', "nan", "true", '"a"', "[]"])
def test_a_lifetime_delta_that_is_none_names_its_key(written: str) -> None:
    (fault,) = faults_after(('lifetime_delta = "1e-5"', f"lifetime_delta = {written}"))
    assert fault.startswith("dataset.rand.lifetime_delta: ")


@pytest.mark.parametrize("written", ["3", '"3"', '"3.0"', "3.0", "30.0e-1"])
def test_a_number_is_exact_however_it_is_written(written: str) -> None:
    assert not faults_after(('lifetime_epsilon = "3"', f"lifetime_epsilon = {written}"))


@pytest.mark.parametrize(
    "written", ["0", "-1", '"-1"', "nan", "inf", '"nan"', "true", '"0.0000000001"', '"a"', "[]", '""', "1979-05-27"]
)
def test_k19_05_a_lifetime_epsilon_that_is_no_epsilon_names_its_key(written: str) -> None:
    (fault,) = faults_after(('lifetime_epsilon = "3"', f"lifetime_epsilon = {written}"))
    assert fault.startswith("dataset.rand.lifetime_epsilon: ")


def test_a_float_of_the_file_is_read_as_it_is_written() -> None:
    policy_step = faults_after(('step = "0.01"', "step = 0.01"))
    assert not policy_step
    bounds = Bounds.model_validate({"lower": "0", "upper": 1, "step": "0.1"})
    assert bounds.grid("float") == Grid(Fraction(1, 10), 0, 10)


def test_the_step_of_an_int_column_is_one_unless_given() -> None:
    assert example_policy().grid("rand", "visits") == Grid(Fraction(1), 0, 20)


@pytest.mark.parametrize("written", ["true", '"1,5"', '"x"', "[1]", "inf", '"1e9999"'])
def test_a_bound_that_is_no_number_names_its_key(written: str) -> None:
    (fault,) = faults_after(('upper = "2000"', f"upper = {written}"))
    assert fault.startswith("dataset.rand.bounds.spending.upper: expected ")


@pytest.mark.parametrize("written", ["[]", "1", '[1, "2"]', "[1, true]", "[1.5]", "[1, 1]", "[[1]]"])
def test_groups_are_labels_of_one_kind_each_once(written: str) -> None:
    (fault,) = faults_after(("site = [1, 2, 3, 4, 5, 6]", f"site = {written}"))
    assert fault.startswith("dataset.rand.groups.site: ")


def test_declared_groups_of_two_columns_are_all_pairs() -> None:
    dataset = example_policy().dataset["rand"]
    assert dataset.group_labels(("plan", "site"))[:3] == (("a", 1), ("a", 2), ("a", 3))
    assert len(dataset.group_labels(("plan", "site"))) == 12
    assert dataset.group_labels(()) == ((),)


@pytest.mark.parametrize("written", ["0", "-1", "true", '"5"', "1.5", "2147483648"])
def test_caps_are_whole_numbers_that_noise_can_be_made_for(written: str) -> None:
    (fault,) = faults_after(("rows_per_unit = 5", f"rows_per_unit = {written}"))
    assert fault.startswith("dataset.rand.rows_per_unit: ")
    (fault,) = faults_after(("rows_per_unit = 5", f"rows_per_unit = 5\ngroups_per_unit = {written}"))
    assert fault.startswith("dataset.rand.groups_per_unit: ")


def test_the_deadline_is_half_a_minute_unless_given() -> None:
    assert example_policy().dataset["rand"].deadline == timedelta(seconds=30)
    given = policy_after(('lifetime_epsilon = "3"', 'lifetime_epsilon = "3"\ndeadline = "5s"'))
    assert given.dataset["rand"].deadline == timedelta(seconds=5)


@pytest.mark.parametrize("written", ['"0s"', '"2h"', "5", '"5"', '"soon"', "true"])
def test_a_deadline_is_a_duration_of_a_second_to_an_hour(written: str) -> None:
    (fault,) = faults_after(('lifetime_epsilon = "3"', f'lifetime_epsilon = "3"\ndeadline = {written}'))
    assert fault.startswith("dataset.rand.deadline: expected ") or "is no duration" in fault
