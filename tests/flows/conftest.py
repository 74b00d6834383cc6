"""The command line fixtures and the key services, for whole flows."""

from tests.kms.providers.conftest import aws, aws_login, moto_url, transit
from tests.vault.cli.conftest import loaded, run

__all__ = ["aws", "aws_login", "loaded", "moto_url", "run", "transit"]
