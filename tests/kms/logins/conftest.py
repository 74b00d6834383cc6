"""The Transit mount of the providers' tests, for each test of a login."""

from tests.kms.providers.conftest import transit

__all__ = ["transit"]
