"""The client: credentials by AWS's default chain, all else from the URI and the settings, and an end to each wait."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from kms.errors import MisconfiguredError
from kms.provider_settings import ProviderSettings
from kms.providers.awskms_client import checked_endpoint, connect
from kms.secret import SecretKey
from tests.kms.providers.aws import REGION, Aws, place

KEY = SecretKey(bytes(range(32)))
AMBIENT = {
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ENDPOINT_URL_KMS": "http://127.0.0.1:1",
    "AWS_USE_FIPS_ENDPOINT": "true",
    "AWS_USE_DUALSTACK_ENDPOINT": "true",
    "AWS_CA_BUNDLE": "/nonexistent",
    "REQUESTS_CA_BUNDLE": "/nonexistent",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
    "AWS_MAX_ATTEMPTS": "9",
    "AWS_RETRY_MODE": "legacy",
    "AWS_DEFAULTS_MODE": "mobile",
}


def inside(client: Any) -> Any:
    return client


def test_the_region_has_its_own_endpoint_whatever_the_environment_names(
    aws_login: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    meta = inside(connect("eu-west-3", ProviderSettings())).meta
    assert (meta.endpoint_url, meta.region_name) == ("https://kms.eu-west-3.amazonaws.com", "eu-west-3")


def test_the_environment_does_not_lead_requests_astray(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    arn = aws.create_key()
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    provider = aws.provider(arn)
    assert provider.unwrap([(provider.wrap(KEY, place()), place())]) == [KEY]


def test_a_profile_gives_credentials_and_nothing_else(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arn = aws.create_key()
    config = tmp_path / "config"
    config.write_text(
        "[profile app]\nregion = us-east-1\nendpoint_url = http://127.0.0.1:1\nca_bundle = /nonexistent\n"
        "aws_access_key_id = AKIAOTHER\naws_secret_access_key = hunter2\n"
    )
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "app")
    provider = aws.provider(arn)
    assert provider.unwrap([(provider.wrap(KEY, place()), place())]) == [KEY]
    assert inside(provider._connected())._request_signer._credentials.access_key == "AKIAOTHER"


def test_every_wait_has_an_end_and_boto_tries_once(aws_login: None) -> None:
    client = inside(connect(REGION, ProviderSettings(timeout=1.5)))
    config = client.meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.5, 1.5)
    assert config.retries["total_max_attempts"] == 1


def test_a_role_s_credentials_are_not_waited_for_without_end(
    aws_login: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The STS client that a web identity is exchanged by is made by botocore, with 60 seconds an attempt."""
    made: list[Any] = []
    create = botocore.session.Session.create_client

    def noted(session: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        client = create(session, name, *args, **kwargs)
        made.append((name, client.meta.config))
        return client

    monkeypatch.setattr("botocore.session.Session.create_client", noted)
    (tmp_path / "token").write_text("token")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/app")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    client = inside(connect(REGION, ProviderSettings(timeout=1.5)))
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1"):
        client.list_aliases()
    config = dict(made)["sts"]
    assert (config.connect_timeout, config.read_timeout) == (1.5, 1.5)
    assert config.retries["total_max_attempts"] == 1


def test_a_ca_file_that_cannot_be_read_is_no_outage(aws_login: None, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    for path in (tmp_path / "missing.pem", tmp_path / "ca.pem"):
        with pytest.raises(MisconfiguredError, match="check ca_file"):
            connect(REGION, ProviderSettings(ca_file=str(path)))


@pytest.mark.parametrize(
    "endpoint",
    ["https://vpce-0a1b.kms.eu-central-1.vpce.amazonaws.com", "https://kms-fips.us-east-1.amazonaws.com:443/", None],
)
def test_an_endpoint_of_one_s_own_is_https(endpoint: str | None) -> None:
    assert checked_endpoint(ProviderSettings(aws_endpoint=endpoint)) == endpoint


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"])
def test_plain_http_is_for_this_machine_and_when_allowed(endpoint: str) -> None:
    assert checked_endpoint(ProviderSettings(aws_endpoint=endpoint, allow_plain_http_to_loopback=True)) == endpoint
    with pytest.raises(MisconfiguredError, match="speaks https"):
        checked_endpoint(ProviderSettings(aws_endpoint=endpoint))


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "kms.example.org",
        "http://kms.example.org",
        "ftp://kms.example.org",
        "https://",
        "https://u:hunter2@h",
        "https://h/path",
        "https://h?x",
        "https://h#x",
        "https://[x",
        "https://h:port",
    ],
)
def test_another_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(MisconfiguredError, match="aws_endpoint") as raised:
        checked_endpoint(ProviderSettings(aws_endpoint=endpoint, allow_plain_http_to_loopback=True))
    assert "hunter2" not in str(raised.value)


def test_without_boto3_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['boto3'] = None\n"
        "from kms import MissingExtraError, open_provider\n"
        "try: open_provider('awskms://alias/app?region=eu-central-1')\n"
        "except MissingExtraError as error: print(error, error.__cause__, error.__suppress_context__)\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "awskms:// needs boto3: pip install 'noisevault[aws]' None True\n"


def test_other_providers_do_not_load_boto3() -> None:
    program = "import sys, kms; assert 'boto3' not in sys.modules and 'botocore' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
