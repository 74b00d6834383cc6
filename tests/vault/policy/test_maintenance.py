"""The section [maintenance]: its defaults, what it takes, and what it refuses."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.vault.policy.example import EXAMPLE, example_policy, faults_after
from vault.policy import Policy
from vault.policy.maintenance import Maintenance
from vault.sample_size import Sample

ROOT = Path(__file__).parents[3]


def read(*lines: str) -> Maintenance:
    return Policy.read("\n".join([EXAMPLE, "[maintenance]", *lines]), Path("/srv/health")).maintenance


def test_without_the_section_nothing_is_rotated_by_age_retired_or_destroyed() -> None:
    rules = example_policy().maintenance
    assert (rules.rotate_after, rules.rotate_seals, rules.audit_head) == (None, 2**31, None)
    assert (rules.reencrypt, rules.rewrap, rules.retire, rules.destroy) == (True, True, False, False)
    assert (rules.verify_every, rules.verify_sample) == (timedelta(days=30), Sample(rows=1000))


def test_each_key_is_taken_and_the_file_lies_beside_the_policy() -> None:
    rules = read('rotate_after = "90d"', "rotate_seals = 5", 'verify_every = "1d"', 'verify_sample = "1%"',
                 "retire = true", 'audit_head = "kept/head.json"')  # fmt: skip
    assert (rules.rotate_after, rules.rotate_seals, rules.verify_every) == (timedelta(days=90), 5, timedelta(days=1))
    assert rules.verify_sample == Sample(share=0.01)
    assert (rules.retire, rules.destroy) == (True, False), "to retire is not to destroy"
    assert rules.audit_head == "/srv/health/kept/head.json"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("rotate_seals = 0", "maintenance.rotate_seals: "),
        ("rotate_seals = 4294967297", "maintenance.rotate_seals: "),
        ('rotate_after = "90"', "maintenance.rotate_after: "),
        ("verify_sample = 1000", "maintenance.verify_sample: a sample is text"),
        ('verify_sample = "0%"', "maintenance.verify_sample: a sample is at least"),
        ('destroy = "yes"', "maintenance.destroy: expected true or false"),
        ("every = 1", "maintenance.every: unknown key; there are: rotate_after, "),
    ],
)
def test_faults_name_their_key(line: str, fault: str) -> None:
    (found,) = faults_after(("[vault]", f"[maintenance]\n{line}\n[vault]"))
    assert found.startswith(fault), found


def test_the_page_has_each_key_with_its_default() -> None:
    page = (ROOT / "docs" / "maintain.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.MULTILINE))
    assert {name for name in told if name in Maintenance.model_fields} == set(Maintenance.model_fields)
    defaults = {"rotate_after": "no", "rotate_seals": "2147483648", "reencrypt": "true", "rewrap": "true",
                "verify_every": '"30d"', "verify_sample": '"1000"', "retire": "false", "destroy": "false",
                "audit_head": "no"}  # fmt: skip
    assert {name: text.strip(" `") for name, text in told.items() if name in defaults} == defaults
