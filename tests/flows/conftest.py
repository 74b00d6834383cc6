"""The command line fixtures, for whole flows."""

from tests.vault.cli.conftest import loaded, run

__all__ = ["loaded", "run"]
