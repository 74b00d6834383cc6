"""What needs a key is counted where its purpose is at work, and what lies elsewhere is named."""

from pathlib import Path

import pytest
from sqlalchemy import insert

from kms import Purpose
from tests.vault.projects import make_project, visit
from vault.budgets import declare_budgets
from vault.cli.still_needed import StillNeeded
from vault.errors import KeyInUseError
from vault.opened_ledger import open_ledger
from vault.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = make_project(tmp_path)
    declare_budgets(open_ledger(project.policy, project.opened.keyring), project.policy)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(3)])
    return project


@pytest.mark.parametrize(
    ("purpose", "told"),
    [
        (Purpose.DATA, "3 values of visit.national_id, .*: move them to the active key by: noisevault reencrypt"),
        (Purpose.INDEX, r"1 slot \(bidx, a\) of visit.national_id, 3 terms of .*: .* noisevault reindex --all"),
        (Purpose.LEDGER, "1 entries of noisevault_audit: the audit log .*, so the key stays"),
    ],
)
def test_a_key_at_work_is_refused_with_places_counts_and_what_to_do(
    project: Project, purpose: Purpose, told: str
) -> None:
    needed, keyring = StillNeeded(project), project.opened.keyring
    (used,) = keyring.records(purpose)
    with pytest.raises(KeyInUseError, match=f"{purpose} key {used.key_id.hex()} is needed by {told}"):
        needed.refuse_used(used)
    new = keyring.lifecycle.rotate(purpose)
    needed.refuse_used(new)
    assert needed.uses(new) == []


def test_fields_outside_of_the_policy_are_named(project: Project) -> None:
    needed, keyring = StillNeeded(project), project.opened.keyring
    (key,) = keyring.records(Purpose.DATA)
    needed.refuse_unseen(key, [])
    keyring.reserve_seals(key.key_id, "clinic.phone", 300)
    assert needed.unseen(key) == {"clinic.phone": 300}
    with pytest.raises(KeyInUseError, match=r"sealed values of clinic.phone, .* add --looked-at clinic.phone"):
        needed.refuse_unseen(key, ["clinic.mail"])
    needed.refuse_unseen(key, ["clinic.phone"])
    (index,) = keyring.records(Purpose.INDEX)
    needed.refuse_unseen(index, [])
