"""The command line fixtures: what a restore leaves is looked at as an operator does."""

from tests.vault.cli.conftest import loaded, run
from tests.vault.cli.test_migrating import moving

__all__ = ["loaded", "moving", "run"]
