"""AWS KMS client: a connection that takes its credentials from AWS's default chain and nothing else from around it."""

import os
import ssl
from ipaddress import ip_address
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from kms.errors import MisconfiguredError, MissingExtraError
from kms.provider_settings import ProviderSettings
from kms.regular_file import open_regular

try:
    import boto3
    import botocore.session
    from botocore.config import Config
except ModuleNotFoundError:
    raise MissingExtraError("awskms:// needs boto3: pip install 'noisevault[aws]'") from None

__all__ = ["KmsClient", "checked_endpoint", "connect"]

# Ours: threads of one process that may ask at the same time before a connection is made and thrown away.
CONNECTIONS: Final = 16


class KmsClient(Protocol):
    """What we use of boto3's client for KMS, whose methods are made at run time."""

    def encrypt(self, **members: Any) -> dict[str, Any]: ...
    def decrypt(self, **members: Any) -> dict[str, Any]: ...
    def re_encrypt(self, **members: Any) -> dict[str, Any]: ...
    def describe_key(self, **members: Any) -> dict[str, Any]: ...
    def schedule_key_deletion(self, **members: Any) -> dict[str, Any]: ...


def connect(region: str, settings: ProviderSettings) -> KmsClient:
    """A client for one region. Not to be used by a forked child. No request is sent yet, except for credentials.

    Profiles, variables and roles give credentials as for any AWS program; the region, the endpoint, TLS and proxies
    they name are not used. Raises: MisconfiguredError, and what botocore raises for profiles that cannot be read.
    """
    endpoint = checked_endpoint(settings)
    _check_ca_file(settings)
    bounds = {
        "connect_timeout": settings.timeout,
        "read_timeout": settings.timeout,
        "retries": {"mode": "standard", "total_max_attempts": 1},  # Patience tries again
    }
    core = botocore.session.Session()
    core.set_default_client_config(Config(**bounds))  # for the STS client that a role's credentials come by
    config = Config(
        **bounds,
        max_pool_connections=CONNECTIONS,
        proxies={},
        ignore_configured_endpoint_urls=True,
        use_fips_endpoint=False,
        use_dualstack_endpoint=False,
    )
    session = boto3.Session(botocore_session=core, region_name=region)
    client: KmsClient = session.client(
        "kms",
        endpoint_url=endpoint,
        verify=settings.ca_file or True,  # None would mean AWS_CA_BUNDLE
        config=config,
    )
    return client


def checked_endpoint(settings: ProviderSettings) -> str | None:
    """The endpoint that the settings name, or None for the region's own. Raises: MisconfiguredError."""
    if settings.aws_endpoint is None:
        return None
    try:
        parts = urlsplit(settings.aws_endpoint)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise MisconfiguredError("aws_endpoint is https://HOST or https://HOST:PORT and nothing more")
    if parts.scheme == "http" and settings.allow_plain_http_to_loopback and _is_loopback(host):
        return settings.aws_endpoint
    if parts.scheme != "https":
        raise MisconfiguredError(
            "aws_endpoint speaks https; http is for this machine only, when it is allowed by"
            " allow_plain_http_to_loopback, or by NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK=1"
        )
    return settings.aws_endpoint


def _check_ca_file(settings: ProviderSettings) -> None:
    """botocore would tell a file that cannot be read as an outage."""
    if settings.ca_file is None:
        return
    try:
        os.close(open_regular(settings.ca_file))
        ssl.create_default_context(cafile=settings.ca_file)
    except OSError:  # SSLError is one
        raise MisconfiguredError("the CA file for AWS KMS cannot be read: check ca_file") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
