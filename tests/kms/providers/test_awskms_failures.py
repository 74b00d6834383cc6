"""What AWS says is told as the right error, and only an outage as an outage.

test_real_*: answers that the imitation of AWS gives by itself. test_injected_*: it never gives them (it decrypts with
a disabled key, has no throttling and checks no login), so the answer that AWS documents is put into the client in
their place, and the client makes its real exception of it.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.exceptions as bc
import pytest

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KmsError,
    LoginExpiredError,
    MisconfiguredError,
    UnavailableError,
)
from kms.patience import Patience
from kms.provider import Wrapped
from kms.providers.awskms import AwsKmsProvider
from kms.providers.awskms_failures import error_for_exception
from kms.secret import SecretKey
from tests.kms.providers.aws import ACCOUNT, REGION, Aws, answers, failing, injected, place
from tests.servers.tls import tls_server

KEY = SecretKey(bytes(range(32)))
MISSING = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/00000000-0000-0000-0000-000000000000"

Operation = Callable[[AwsKmsProvider, Wrapped], object]
OPERATIONS: dict[str, Operation] = {
    "wrap": lambda provider, _: provider.wrap(KEY, place()),
    "unwrap": lambda provider, wrapped: provider.unwrap([(wrapped, place())]),
    "rewrap": lambda provider, wrapped: provider.rewrap([(wrapped, place())]),
}
operations = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())


def test_real_missing_key(aws: Aws) -> None:
    with pytest.raises(KeyNotFoundError, match=f"{MISSING} does not exist") as raised:
        aws.provider(MISSING).wrap(KEY, place())
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_real_missing_alias(aws: Aws) -> None:
    with pytest.raises(KeyNotFoundError, match="alias/nobody"):
        aws.provider(f"awskms://alias/nobody?region={REGION}").wrap(KEY, place())
    with pytest.raises(KeyNotFoundError, match="alias/nobody"):
        aws.provider(f"arn:aws:kms:{REGION}:{ACCOUNT}:alias/nobody").wrap(KEY, place())


@pytest.mark.parametrize("operation", ["unwrap", "rewrap"])
@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[:-1] + bytes([c[-1] ^ 1]),
        lambda c: c[:-1],
        lambda c: b"garbage",
        lambda c: b"",
        lambda c: bytes(6145),
    ],
    ids=["tampered", "short", "garbage", "empty", "too long"],
)
def test_real_changed_bytes(aws: Aws, change: Callable[[bytes], bytes], operation: str) -> None:
    provider = aws.provider(aws.create_key())
    wrapped = provider.wrap(KEY, place())
    with pytest.raises(CannotUnwrapError, match="row was changed"):
        OPERATIONS[operation](provider, Wrapped(change(wrapped.ciphertext), wrapped.kek, wrapped.kek_version))


@pytest.mark.parametrize("operation", ["unwrap", "rewrap"])
def test_real_another_place(aws: Aws, operation: str) -> None:
    provider = aws.provider(aws.create_key())
    for context in (place(2), place(1, "index")):
        with pytest.raises(CannotUnwrapError, match="changed or moved"):
            OPERATIONS[operation](provider, provider.wrap(KEY, context))


def test_real_row_that_names_another_key(aws: Aws) -> None:
    """AWS says IncorrectKeyException here, which is injected below; the imitation denies access."""
    provider, other = aws.provider(aws.create_key()), aws.create_key()
    wrapped = provider.wrap(KEY, place())
    with pytest.raises((CannotUnwrapError, AccessDeniedError)):
        provider.unwrap([(Wrapped(wrapped.ciphertext, f"awskms://{other}", ""), place())])


def test_real_endpoint_that_is_gone(aws: Aws) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=r"does not answer \(EndpointConnectionError\)"):
            aws.provider(MISSING, aws_endpoint=gone).wrap(KEY, place())


def test_real_certificate_that_nobody_signed(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trusted by the ca_file of the settings and by no variable."""
    pem = tmp_path / "server.pem"
    monkeypatch.setenv("AWS_CA_BUNDLE", str(pem))
    with tls_server(pem, 400, b'{"__type": "DisabledException"}') as url:
        with pytest.raises(MisconfiguredError, match="TLS certificate"):
            aws.provider(MISSING, aws_endpoint=url).wrap(KEY, place())
        with pytest.raises(KeyDisabledError):
            aws.provider(MISSING, aws_endpoint=url, ca_file=str(pem)).wrap(KEY, place())


@pytest.fixture
def hung() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_real_endpoint_that_hangs_is_left_within_the_timeout(aws: Aws, hung: str) -> None:
    slept: list[float] = []
    provider = aws.provider(MISSING, Patience(deadline=0.3, sleep=slept.append), aws_endpoint=hung, timeout=0.3)
    with pytest.raises(UnavailableError, match="ReadTimeoutError"):
        provider.wrap(KEY, place())
    assert slept == []


def test_real_endpoint_that_speaks_something_else(aws: Aws, moto_url: str) -> None:
    for status, body in ((200, b"<html>"), (200, b"[]"), (200, b"{}")):
        provider = aws.provider(aws.create_key())
        wrapped = provider.wrap(KEY, place())
        answers(provider, "*", injected("", status, body))
        for operation in OPERATIONS.values():
            with pytest.raises((UnavailableError, CannotUnwrapError)):
                operation(provider, wrapped)


INJECTED = [
    (UnavailableError, "too many requests", 400, ["ThrottlingException", "RequestLimitExceeded", "SlowDown"]),
    (UnavailableError, "too many requests", 429, ["NobodyKnowsException"]),
    (UnavailableError, "is failing", 400, ["DependencyTimeoutException", "KeyUnavailableException", "RequestTimeout"]),
    (UnavailableError, "is failing", 500, ["KMSInternalException", "InternalFailure", "NobodyKnowsException"]),
    (UnavailableError, "is failing", 503, ["ServiceUnavailable", "ServiceUnavailableException"]),
    (LoginExpiredError, "renew them", 400, ["ExpiredTokenException", "UnrecognizedClientException"]),
    (LoginExpiredError, "renew them", 403, ["InvalidSignatureException", "MissingAuthenticationTokenException"]),
    (LoginExpiredError, "renew them", 403, ["IncompleteSignature", "InvalidClientTokenId", "RequestExpired"]),
    (AccessDeniedError, "policies", 400, ["AccessDeniedException", "AccessDenied", "InvalidGrantTokenException"]),
    (AccessDeniedError, "policies", 403, ["NobodyKnowsException"]),
    (KeyNotFoundError, "does not exist", 400, ["NotFoundException"]),
    (KeyDisabledError, "is disabled: enable it", 400, ["DisabledException"]),
    (KeyDisabledError, "waits for its deletion", 400, ["KMSInvalidStateException"]),
    (CannotUnwrapError, "does not authenticate", 400, ["InvalidCiphertextException"]),
    (CannotUnwrapError, "row was changed", 400, ["IncorrectKeyException"]),
    (MisconfiguredError, "symmetric encryption key", 400, ["InvalidKeyUsageException"]),
    (MisconfiguredError, "has not enabled this region", 403, ["OptInRequired"]),
    (MisconfiguredError, "refuses the request", 400, ["ValidationException", "UnsupportedOperationException", "New"]),
]


@pytest.fixture(scope="module")
def connected(moto_url: str) -> tuple[AwsKmsProvider, Wrapped]:
    """One for the whole table: a client takes its time to be made."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
        aws = Aws(moto_url)
        provider = aws.provider(aws.create_key())
        return provider, provider.wrap(KEY, place())


@operations
@pytest.mark.parametrize(("kind", "says", "status", "code"), [(*row[:3], code) for row in INJECTED for code in row[3]])
def test_injected_answers_name_the_key(
    connected: tuple[AwsKmsProvider, Wrapped],
    kind: type[KmsError],
    says: str,
    status: int,
    code: str,
    operation: Operation,
) -> None:
    provider, wrapped = connected
    with failing(provider, code, status), pytest.raises(kind, match=says) as raised:
        operation(provider, wrapped)
    assert type(raised.value) is kind
    assert wrapped.kek in str(raised.value)
    assert f"({code})" in str(raised.value)
    assert "injected" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_k13_08_injected_disabled_key_is_told_as_disabled_and_which(aws: Aws) -> None:
    """The row's key is named, not the alias by which the provider was opened."""
    arn = aws.create_key()
    aws.admin.create_alias(AliasName=f"alias/{arn[-12:]}", TargetKeyId=arn)
    provider = aws.provider(f"awskms://alias/{arn[-12:]}?region={REGION}")
    wrapped = provider.wrap(KEY, place())
    aws.admin.disable_key(KeyId=arn.rpartition("/")[2])
    with failing(provider, "DisabledException"), pytest.raises(KeyDisabledError, match=f"{arn} is disabled") as raised:
        provider.unwrap([(wrapped, place())])
    assert "corrupt" not in str(raised.value)
    assert "alias" not in str(raised.value)


@pytest.mark.parametrize("code", ["hunter2 hunter2", "x" * 61, "a\nb", ""])
def test_a_code_that_is_none_is_not_shown(code: str) -> None:
    response: Any = {"Error": {"Code": code, "Message": "hunter2"}, "ResponseMetadata": {"HTTPStatusCode": 418}}
    shown = str(error_for_exception(bc.ClientError(response, "Decrypt"), "awskms://k"))
    assert shown == "AWS KMS refuses the request to awskms://k (HTTP 418)"


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (bc.SSLError(endpoint_url="u", error="e"), MisconfiguredError),
        (bc.EndpointConnectionError(endpoint_url="u", error="e"), UnavailableError),
        (bc.ConnectTimeoutError(endpoint_url="u", error="e"), UnavailableError),
        (bc.ReadTimeoutError(endpoint_url="u", error="e"), UnavailableError),
        (bc.ConnectionClosedError(endpoint_url="u", request="r"), UnavailableError),
        (bc.ProxyConnectionError(proxy_url="u", error="e"), UnavailableError),
        (bc.ResponseStreamingError(error="e"), UnavailableError),
        (bc.IncompleteReadError(actual_bytes=1, expected_bytes=2), UnavailableError),
        (bc.CredentialRetrievalError(provider="p", error_msg="e"), UnavailableError),
        (bc.MetadataRetrievalError(error_msg="e"), UnavailableError),
        (bc.NoCredentialsError(), LoginExpiredError),
        (bc.NoAuthTokenError(), LoginExpiredError),
        (bc.TokenRetrievalError(provider="p", error_msg="e"), LoginExpiredError),
        (bc.SSOTokenLoadError(error_msg="e"), LoginExpiredError),
        (bc.UnauthorizedSSOTokenError(), LoginExpiredError),
        (bc.LoginRefreshRequired(), LoginExpiredError),
        (bc.PartialCredentialsError(provider="p", cred_var="v"), MisconfiguredError),
        (bc.ProfileNotFound(profile="p"), MisconfiguredError),
        (bc.ConfigParseError(path="p"), MisconfiguredError),
        (bc.ParamValidationError(report="hunter2"), MisconfiguredError),
        (ValueError("hunter2"), UnavailableError),
        (bc.ClientError({}, "Decrypt"), MisconfiguredError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_boto_raises_by_itself_is_told_with_its_name_only(raised: Exception, kind: type[KmsError]) -> None:
    error = error_for_exception(raised, "awskms://k")
    assert type(error) is kind
    assert "awskms://k" in str(error)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("missing", ["none", "profile"])
def test_a_login_that_is_not_there(aws: Aws, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    if missing == "profile":
        monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(MisconfiguredError if missing == "profile" else LoginExpiredError):
        aws.provider(MISSING).wrap(KEY, place())
