"""audit recover, after a process that was killed between charge and answer."""

from contextlib import closing
from pathlib import Path

from dp.errors import NotReleasedError
from dp.ledger import Claim, Ledger
from dp.price import Price
from dp.request import Request
from kms import ProviderSettings
from tests.vault.cli.conftest import Run
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project


def charged(folder: Path) -> Claim:
    """Of a process that is gone."""
    policy = Policy.load(folder / "noisevault.toml")
    project = Project.open(policy, ProviderSettings())
    with closing(project), closing(open_ledger(policy, project.opened.keyring)) as ledger:
        claim = ledger.charge(Request("visits", 1, "ann", "COUNT(*)", Price.pure(10**8)))
    assert isinstance(claim, Claim)
    return claim


def store(folder: Path, claim: Claim) -> bytes:
    policy = Policy.load(folder / "noisevault.toml")
    project = Project.open(policy, ProviderSettings())
    with closing(project), closing(open_ledger(policy, project.opened.keyring)) as ledger:
        assert isinstance(ledger, Ledger)
        return ledger.store(claim, b"41.5")


def test_only_charges_of_that_age_are_marked(loaded: Run, tmp_path: Path) -> None:
    claim = charged(tmp_path)
    assert loaded("audit", "recover").out == "0 charges are marked as not released\n"
    assert loaded("audit", "recover", "--older-than", "0s").out == "1 charges are marked as not released\n"
    assert loaded("audit", "recover", "--older-than", "0s").out == "0 charges are marked as not released\n"
    try:
        store(tmp_path, claim)
    except NotReleasedError:
        pass
    else:
        raise AssertionError("a marked charge got an answer")
    assert loaded("audit", "verify").status == 0
    assert '"cause": "recovery"' in loaded("audit", "show", "--kind", "unreleased", "--json").out
