"""Each failure of a real server is told as the right error, and only an outage as an outage."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import hvac
import pytest

from kms.errors import (
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
    MisconfiguredError,
    UnavailableError,
)
from kms.logins import AppRole
from kms.provider import Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.providers.hcvault_address import TransitAddress
from kms.providers.hcvault_failures import error_for_exception, error_for_text, oldest_of, version_of
from kms.secret import SecretKey, SecretText
from tests.kms.providers.transit import ONCE, Transit, b64, frames_of
from tests.servers.openbao import bao_dev

openbao = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))


def config(transit: Transit, **settings: object) -> None:
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data=settings)


def rotate(transit: Transit) -> None:
    transit.root.write_data(f"{transit.mount}/keys/kek/rotate", data={})


def unwrap(transit: Transit, wrapped: Wrapped, more: int = 0) -> list[SecretKey]:
    """With more > 0, good keys go before it, so that the failure is one item's and not the request's."""
    provider = transit.provider()
    good = [(provider.wrap(KEY, b"p"), b"p")] * more if more else []
    return provider.unwrap([*good, (wrapped, b"p")])


@openbao
@pytest.mark.parametrize("more", [0, 1])
def test_a_retired_version_is_told_as_such(transit: Transit, more: int) -> None:
    old = transit.provider().wrap(KEY, b"p")
    rotate(transit)
    config(transit, min_decryption_version=2)
    with pytest.raises(KeyVersionRetiredError, match="lower its min_decryption_version"):
        unwrap(transit, old, more)
    config(transit, min_decryption_version=1)
    assert unwrap(transit, old)[-1] == KEY


@openbao
def test_a_trimmed_version_is_told_as_such(transit: Transit) -> None:
    old = transit.provider().wrap(KEY, b"p")
    rotate(transit)
    config(transit, min_decryption_version=2)
    config(transit, min_encryption_version=2)
    transit.root.write_data(f"{transit.mount}/keys/kek/trim", data={"min_available_version": 2})
    with pytest.raises(KeyVersionRetiredError):
        unwrap(transit, old)


@openbao
def test_a_soft_deleted_key_is_disabled_and_comes_back(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    transit.root.delete(f"{transit.mount}/keys/kek/soft-delete")
    with pytest.raises(KeyDisabledError, match="soft-delete-restore`"):
        unwrap(transit, wrapped)
    with pytest.raises(KeyDisabledError, match="soft-delete-restore`"):
        transit.provider().wrap(KEY, b"p")
    transit.root.write_data(f"{transit.mount}/keys/kek/soft-delete-restore", data={})
    assert unwrap(transit, wrapped) == [KEY]


@openbao
def test_a_deleted_key_is_not_found(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    config(transit, deletion_allowed=True)
    transit.root.delete(f"{transit.mount}/keys/kek")
    with pytest.raises(KeyNotFoundError):
        unwrap(transit, wrapped)


@openbao
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[:-4] + (b"AAA=" if c[-4:] != b"AAA=" else b"BBB="),
        lambda c: c.replace(b"v1", b"v9"),
        lambda c: b"vault:v1:AAAA",
        lambda c: b"vault:v1:!!!!",
        lambda c: b"",
        lambda c: b"garbage",
        lambda c: c.replace(b"v1", b"v-1"),
    ],
    ids=["tampered", "version 9", "short", "not base64", "empty", "no prefix", "version -1"],
)
def test_changed_bytes_cannot_be_unwrapped(transit: Transit, change: Callable[[bytes], bytes], more: int) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    with pytest.raises((CannotUnwrapError, KeyVersionRetiredError)) as raised:
        unwrap(transit, Wrapped(change(wrapped.ciphertext), wrapped.kek, "1"), more)
    assert "report" not in str(raised.value)


@openbao
def test_a_missing_mount_and_a_missing_namespace_are_told_as_such(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, b"p")
    with pytest.raises(MisconfiguredError, match="namespace"):
        transit.provider(namespace="nowhere").unwrap([(wrapped, b"p")])
    transit.mount = "nowhere"
    with pytest.raises(KeyNotFoundError, match="enable transit there"):
        unwrap(transit, wrapped)


@openbao
def test_a_sealed_server_is_unavailable(tmp_path: Path) -> None:
    with bao_dev(tmp_path) as server:
        transit = Transit(server, "transit")
        transit.root.sys.enable_secrets_engine("transit")
        transit.create()
        provider = transit.provider()
        wrapped = provider.wrap(KEY, b"p")
        transit.root.sys.seal()
        with pytest.raises(UnavailableError, match="sealed"):
            provider.unwrap([(wrapped, b"p")])
        with pytest.raises(UnavailableError, match="sealed"):
            provider.wrap(KEY, b"p")
    with pytest.raises(UnavailableError, match="does not answer"):  # now it is gone
        provider.unwrap([(wrapped, b"p")])


@openbao
def test_a_rate_limit_is_an_outage(transit: Transit) -> None:
    provider = transit.provider()
    wrapped = provider.wrap(KEY, b"p")
    quota = f"sys/quotas/rate-limit/{transit.mount.replace('/', '-')}"
    transit.root.write_data(quota, data={"path": transit.mount, "rate": 1, "interval": "60s"})
    try:
        with pytest.raises(UnavailableError, match="rate limit"):
            provider.unwrap([(wrapped, b"p")] * 1000)  # five requests
    finally:
        transit.root.delete(quota)


def provider_at(port: int, **settings: object) -> TransitProvider:
    given = {"token": SecretText("t"), "allow_plain_http_to_loopback": True, "timeout": 0.5} | settings
    address = TransitAddress.parse(
        f"hcvault://127.0.0.1:{port}/transit/keys/k", plain_http_to_loopback=bool(given["allow_plain_http_to_loopback"])
    )
    return TransitProvider(address, ProviderSettings(**given), patience=ONCE)  # type: ignore[arg-type]


def some(provider: TransitProvider) -> list[SecretKey]:
    return provider.unwrap([(Wrapped(b"vault:v1:AAAA", "", "1"), b"p")])


def test_a_server_that_hangs_is_unavailable_within_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(UnavailableError, match="does not answer"):
            some(provider_at(silent.getsockname()[1]))
        assert time.monotonic() - begun < 3


@pytest.fixture
def answering() -> Iterator[Callable[[int, bytes], int]]:
    """Start a server with one answer to everything; gives its port."""
    servers: list[HTTPServer] = []

    def start(status: int, body: bytes) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *arguments: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        return int(server.server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [412, 429, 472, 473, 500, 502, 503, 504])
def test_a_failing_server_is_unavailable(answering: Callable[[int, bytes], int], status: int) -> None:
    with pytest.raises(UnavailableError):
        some(provider_at(answering(status, b'{"errors":["internal error"]}')))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>please wait</html>"),
        (200, b"{}"),
        (200, b"[]"),
        (200, b'{"data": {"batch_results": []}}'),
        (200, b'{"data": {"batch_results": 5}}'),
        (204, b""),
    ],
)
def test_an_answer_that_is_none_is_an_outage(answering: Callable[[int, bytes], int], status: int, body: bytes) -> None:
    with pytest.raises(UnavailableError, match="no proper answer"):
        some(provider_at(answering(status, body)))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("by_login", [False, True])
def test_k13_10_a_standby_that_sends_to_the_active_node_is_told_and_not_followed(
    answering: Callable[[int, bytes], int], status: int, by_login: bool
) -> None:
    """The token would go along, to whatever host the answer names."""
    login = {"token": None, "login": AppRole("role", SecretText("secret"))} if by_login else {}
    with pytest.raises(UnavailableError, match="write the address of the active node") as raised:
        some(provider_at(answering(status, b'{"data": {"batch_results": [{"plaintext": "AAAA"}]}}'), **login))
    assert "elsewhere" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    ["1 0", "0 0", "1 1", "0", "0 1 2", "", "0 [1]", "0 7"],
    ids=["turned around", "the first twice", "the second twice", "one less", "one more", "none", "a list", "another's"],
)
@pytest.mark.parametrize("operation", ["unwrap", "rewrap"])
def test_k13_03_items_that_are_not_the_ones_asked_for_are_not_taken(
    answering: Callable[[int, bytes], int], operation: str, given: str
) -> None:
    """One that landed on another's row would seal under the wrong key, or be stored where it never opens again."""
    result = '{{"plaintext": "{}", "ciphertext": "vault:v1:AAAA", "key_version": 1, "reference": {}}}'
    references = [one if one.startswith("[") else f'"{one}"' for one in given.split()]
    results = ", ".join(result.format(b64(KEY.raw), reference) for reference in references)
    provider = provider_at(answering(200, f'{{"data": {{"batch_results": [{results}]}}}}'.encode()))
    with pytest.raises(UnavailableError, match="no proper answer"):
        getattr(provider, operation)(
            [(Wrapped(b"vault:v1:AAAA", "", "1"), b"p"), (Wrapped(b"vault:v1:BBBB", "", "1"), b"q")]
        )


def test_k13_03_a_server_that_gives_no_references_back_is_taken_at_its_order(
    answering: Callable[[int, bytes], int],
) -> None:
    body = f'{{"data": {{"batch_results": [{{"plaintext": "{b64(KEY.raw)}"}}]}}}}'
    assert some(provider_at(answering(200, body.encode()))) == [KEY]


@pytest.mark.parametrize("text", ["1 error occurred: internal error", "context deadline exceeded", "read: i/o timeout"])
def test_k13_08_an_outage_that_meets_one_item_does_not_look_like_corrupt_data(
    answering: Callable[[int, bytes], int], text: str
) -> None:
    """partial_failure_response_code stands for the server's own failures too, beside items that went well."""
    body = f'{{"data": {{"batch_results": [{{"error": "{text}", "reference": "0"}}]}}}}'
    with pytest.raises(UnavailableError, match="is failing"):
        some(provider_at(answering(200, body.encode())))


@pytest.mark.parametrize("result", [b'{"plaintext": "!"}', b'{"plaintext": "QUJD"}', b'{"plaintext": null}', b"{}"])
def test_what_is_no_key_is_refused(answering: Callable[[int, bytes], int], result: bytes) -> None:
    with pytest.raises(CannotUnwrapError, match="is no key"):
        some(provider_at(answering(200, b'{"data": {"batch_results": [' + result + b"]}}")))


@pytest.mark.parametrize("second", [b"null", b'"x"', b"5", b"[]"])
def test_an_item_that_is_no_object_is_an_outage_and_shows_no_other_item(
    answering: Callable[[int, bytes], int], second: bytes
) -> None:
    first = b'{"plaintext": "' + b64(KEY.raw).encode() + b'"}'
    provider = provider_at(answering(200, b'{"data": {"batch_results": [' + first + b", " + second + b"]}}"))
    with pytest.raises(UnavailableError, match="no proper answer") as raised:
        provider.unwrap([(Wrapped(b"vault:v1:AAAA", "", "1"), b"p")] * 2)
    assert b64(KEY.raw) not in frames_of(raised.value)


@pytest.mark.parametrize(
    "wrapped", ['"\u00e9", "key_version": 1', 'null, "key_version": 1', '"a", "key_version": Infinity']
)
def test_what_is_no_wrapped_key_is_an_outage(answering: Callable[[int, bytes], int], wrapped: str) -> None:
    answer = f'{{"data": {{"derived": true, "ciphertext": {wrapped}}}}}'
    with pytest.raises(UnavailableError, match="no proper answer"):
        provider_at(answering(200, answer.encode())).wrap(KEY, b"p")


@pytest.mark.parametrize("token", ["hunter2\n", "hunter2\udce9"])
def test_k10_04_a_token_with_a_line_break_is_misconfigured_not_an_outage(
    answering: Callable[[int, bytes], int], token: str
) -> None:
    with pytest.raises(MisconfiguredError, match="line break") as raised:
        some(provider_at(answering(200, b"{}"), token=SecretText(token)))
    assert "hunter2" not in frames_of(raised.value)


def test_https_to_a_plain_server_is_misconfigured_not_an_outage(answering: Callable[[int, bytes], int]) -> None:
    with pytest.raises(MisconfiguredError, match="TLS"):
        some(provider_at(answering(200, b""), allow_plain_http_to_loopback=False))


def test_a_text_that_is_not_in_the_table_has_no_meaning_of_its_own() -> None:
    assert error_for_text("something new", "k") is None
    assert isinstance(error_for_exception(hvac.exceptions.InvalidRequest("something new"), "k"), MisconfiguredError)


@pytest.mark.parametrize(
    "raised", [ValueError("hunter2"), hvac.exceptions.InvalidRequest("hunter2"), OSError("hunter2")]
)
def test_the_text_of_an_answer_is_not_passed_on(raised: Exception) -> None:
    error = error_for_exception(raised, "k")
    assert isinstance(error, KmsError)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    ("wrapped_by", "version"),
    [
        (b"vault:v7:AAAA", "7"),
        (b"", "N"),
        (b"vault:v;rm -rf /:", "N"),
        (b"vault:v0:", "N"),
        (b"vault:v" + b"9" * 99, "N"),
    ],
)
def test_the_command_that_is_advised_has_nothing_in_it_but_a_number(wrapped_by: bytes, version: str) -> None:
    said = str(
        error_for_text(
            "ciphertext or signature version is disallowed by policy (too old)",
            "hcvault://h:8200/team/transit/keys/kek",
            wrapped_by=wrapped_by,
        )
    )
    assert f"`bao write team/transit/keys/kek/config min_decryption_version={version}`" in said


def test_of_a_batch_the_oldest_version_is_told() -> None:
    assert oldest_of([b"vault:v10:AAAA", b"vault:v9:BBBB", b"junk"]) == b"vault:v9:BBBB"
    assert oldest_of([b"junk"]) == b""


def test_a_ciphertext_says_its_version() -> None:
    assert version_of(b"vault:v12:AAAA") == "12"
    assert version_of(b"AAAA") is None
