"""The Kubernetes login against a running OpenBao.

There is no cluster: one endpoint of it, TokenReview, which OpenBao asks whether a service account's token is
good, is played by an HTTPS server on loopback that knows one token. All else is OpenBao's own.
"""

import json
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kms.errors import AccessDeniedError, KeyFileError
from kms.logins.kubernetes import TOKEN_MAX_BYTES, Kubernetes
from kms.secret import SecretKey
from tests.kms.logins.test_jwt import _url64
from tests.kms.logins.vault_logins import ScriptedServer, policy_on
from tests.kms.providers.transit import Transit, frames_of
from tests.servers.tls import write_certificate

KEY = SecretKey(bytes(range(32)))


def _service_account_token() -> str:
    """Of the right form; only the review says whether it is good."""
    now = int(time.time())
    claims = {
        "iss": "kubernetes/serviceaccount",
        "sub": "system:serviceaccount:shop:app",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": now + 3600,
        "kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "app", "uid": "u1"}},
        "nonce": secrets.token_hex(4),
    }
    parts = [_url64(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims)]
    return b".".join([*parts, _url64(secrets.token_bytes(256))]).decode()


@pytest.fixture
def good_token() -> str:
    return _service_account_token()


@pytest.fixture
def reviews(good_token: str, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address and the certificate of a server with nothing but TokenReview."""
    pem = tmp_path / "cluster.pem"
    write_certificate(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    class TokenReview(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            good = self.path == "/apis/authentication.k8s.io/v1/tokenreviews" and asked["spec"]["token"] == good_token
            user = {"username": "system:serviceaccount:shop:app", "uid": "u1", "groups": []}
            status = {"authenticated": True, "user": user} if good else {"authenticated": False}
            body = json.dumps({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": status})
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), TokenReview)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        certificate = pem.read_text().partition("-----BEGIN CERTIFICATE")
        yield f"https://127.0.0.1:{server.server_port}", "".join(certificate[1:])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def mount(transit: Transit, reviews: tuple[str, str]) -> str:
    mount = f"kubernetes-{secrets.token_hex(4)}"
    transit.root.sys.enable_auth_method("kubernetes", path=mount)
    config = {"kubernetes_host": reviews[0], "kubernetes_ca_cert": reviews[1], "token_reviewer_jwt": "reviewer"}
    transit.root.write_data(f"auth/{mount}/config", data=config)
    role = {
        "bound_service_account_names": ["app"],
        "bound_service_account_namespaces": ["shop"],
        "token_policies": [policy_on(transit)],
    }
    transit.root.write_data(f"auth/{mount}/role/app", data=role)
    return mount


def file_of(token: str, tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(token)
    file.chmod(0o644)  # as the kubelet may leave it
    return file


@pytest.mark.openbao
def test_a_pod_logs_in_by_its_service_account(transit: Transit, mount: str, good_token: str, tmp_path: Path) -> None:
    provider = transit.provider(login=Kubernetes("app", file_of(good_token, tmp_path), mount))
    wrapped = provider.wrap(KEY, b"p")
    held = provider._logins._held
    assert held is not None
    transit.root.auth.token.revoke(held.grant.token.reveal())
    assert provider.unwrap([(wrapped, b"p")]) == [KEY]


@pytest.mark.openbao
@pytest.mark.parametrize("wrong", ["token", "role", "no JWT"])
def test_another_service_account_is_denied_with_what_to_check(
    transit: Transit, mount: str, good_token: str, tmp_path: Path, wrong: str
) -> None:
    token = {"token": _service_account_token(), "no JWT": "hunter2"}.get(wrong, good_token)
    role = "nobody" if wrong == "role" else "app"
    provider = transit.provider(login=Kubernetes(role, file_of(token, tmp_path), mount))
    with pytest.raises(AccessDeniedError, match="bound to the service account") as raised:
        provider.wrap(KEY, b"p")
    assert token not in frames_of(raised.value)


@pytest.mark.parametrize("content", [None, "hunter2 hunter2", "h" * (TOKEN_MAX_BYTES + 1)])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "missing" if content is None else file_of(content, tmp_path)
    with pytest.raises(KeyFileError, match="service account token") as raised:
        Kubernetes("app", file).log_in(ScriptedServer().connect)
    assert "hunter2" not in frames_of(raised.value)
