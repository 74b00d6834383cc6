from pathlib import Path

from tests.vault.policy.example import EXAMPLE, example_policy, faults_after
from vault.policy import Policy, UnboundField, unbound_fields

LOOSE = EXAMPLE.replace(
    'visits = { type = "int", sealed = true, bind = ["person", "year"] }',
    'visits = { type = "int", sealed = true, bind = ["year"] }',
)


def test_fields_that_bind_the_unit_are_not_listed() -> None:
    assert unbound_fields(example_policy()) == ()


def test_a_field_that_does_not_bind_the_unit_is_listed() -> None:
    assert unbound_fields(Policy.read(LOOSE, Path("/srv"))) == (UnboundField("rand", "person_year", "visits"),)


def test_a_written_acceptance_ends_the_listing() -> None:
    text = LOOSE.replace("[dataset.rand]", '[dataset.rand]\naccept_unbound = "one operator holds both roles"')
    assert unbound_fields(Policy.read(text, Path("/srv"))) == ()


def test_an_acceptance_has_to_say_something() -> None:
    (fault,) = faults_after(("[dataset.rand]", '[dataset.rand]\naccept_unbound = "yes"'))
    assert fault.startswith("dataset.rand.accept_unbound: ")
