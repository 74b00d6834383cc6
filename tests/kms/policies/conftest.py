"""The Transit mount and the imitated AWS of the providers' tests."""

from tests.kms.providers.conftest import aws, aws_login, moto_url, transit

__all__ = ["aws", "aws_login", "moto_url", "transit"]
