"""TLS to a real server: whom we trust, whom it trusts, and that neither is told as an outage, nor an outage as them."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from kms.errors import KmsError, MisconfiguredError, UnavailableError
from kms.logins import AppRole
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault import TransitProvider
from kms.providers.hcvault_address import TransitAddress
from kms.providers.hcvault_tls import TlsFiles
from kms.secret import SecretKey, SecretText
from tests.kms.providers.transit import ONCE, Transit, frames_of, transit_on
from tests.servers.authority import Authority, write_key
from tests.servers.bao_server import BaoServer, bao_server

openbao = pytest.mark.openbao
KEY = SecretKey(bytes(range(32)))


def works(provider: TransitProvider) -> bool:
    return provider.unwrap([(provider.wrap(KEY, b"p"), b"p")]) == [KEY]


@openbao
def test_the_authority_of_the_ca_file_is_trusted_and_no_other(tls_transit: Transit, tmp_path: Path) -> None:
    assert works(tls_transit.provider())
    other = str(Authority(tmp_path, "other").ca)
    for ca_file, said in ((other, f"check ca_file {other}"), (None, "ca_file, which is not set")):
        with pytest.raises(MisconfiguredError, match="is not trusted") as raised:
            tls_transit.provider(ca_file=ca_file).wrap(KEY, b"p")
        assert said in str(raised.value)


@openbao
def test_a_login_meets_the_same_answer(tls_transit: Transit, tmp_path: Path) -> None:
    login = AppRole("role", SecretText("hunter2"))
    for ca_file, said in (
        (str(Authority(tmp_path, "other").ca), "is not trusted"),
        (str(tmp_path / "missing.pem"), "check ca_file"),
    ):
        with pytest.raises(MisconfiguredError, match=said) as raised:
            tls_transit.provider(login=login, ca_file=ca_file).wrap(KEY, b"p")
        assert "hunter2" not in frames_of(raised.value)


@openbao
def test_plain_http_to_a_tls_server_is_misconfigured(bao_tls: BaoServer) -> None:
    settings = ProviderSettings(token=SecretText("t"), allow_plain_http_to_loopback=True)
    provider = TransitProvider.from_uri(f"hcvault://127.0.0.1:{bao_tls.port}/transit/keys/kek", settings)
    with pytest.raises(MisconfiguredError, match="speaks https"):
        provider.wrap(KEY, b"p")


@openbao
def test_a_name_that_the_certificate_does_not_have_is_misconfigured(
    tls_transit: Transit, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = socket.getaddrinfo("127.0.0.1", 0, type=socket.SOCK_STREAM)[0]
    assert isinstance(tls_transit.server, BaoServer)
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(*found[:4], ("127.0.0.1", tls_transit.server.port))])
    elsewhere = tls_transit.uri().replace("127.0.0.1", "vault.example.org")
    with pytest.raises(MisconfiguredError, match=r"Hostname mismatch.*the name in the address"):
        TransitProvider.from_uri(elsewhere, tls_transit.provider()._settings).wrap(KEY, b"p")


@pytest.fixture(scope="module")
def wanting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transit]:
    """On a server that wants a certificate of each client."""
    with (
        bao_server(tmp_path_factory.mktemp("bao"), client_certificates=True) as server,
        transit_on(server, "transit") as transit,
    ):
        transit.create()
        yield transit


def certificate_of(transit: Transit) -> dict[str, Any]:
    assert isinstance(transit.server, BaoServer)
    issued = transit.server.client_certificate
    assert issued is not None
    return {"client_cert": str(issued.cert), "client_key": str(issued.key)}


@openbao
def test_a_client_certificate_is_shown_to_a_server_that_wants_one(wanting: Transit, tmp_path: Path) -> None:
    files = certificate_of(wanting)
    assert works(wanting.provider(**files))
    both = tmp_path / "both.pem"
    both.write_text(Path(files["client_cert"]).read_text() + Path(files["client_key"]).read_text())
    assert works(wanting.provider(client_cert=str(both)))


@openbao
def test_without_a_client_certificate_it_is_said_what_to_name(wanting: Transit) -> None:
    for _ in range(5):  # the refusal comes after the handshake, while the request is being sent
        with pytest.raises(MisconfiguredError, match=r"without certificate.*client_cert and client_key"):
            wanting.provider().wrap(KEY, b"p")


@openbao
@pytest.mark.parametrize("wrong", ["another authority's", "ended"])
def test_a_client_certificate_that_is_refused_is_named(wanting: Transit, tmp_path: Path, wrong: str) -> None:
    server = wanting.server
    assert isinstance(server, BaoServer)
    issued = server.authority.client("old", ended=True) if wrong == "ended" else Authority(tmp_path, "x").client()
    for _ in range(5):
        with pytest.raises(MisconfiguredError, match="has not expired") as raised:
            wanting.provider(client_cert=str(issued.cert), client_key=str(issued.key)).wrap(KEY, b"p")
        assert str(issued.cert) in str(raised.value)


@openbao
def test_a_renewed_client_certificate_is_shown_without_a_restart(wanting: Transit, tmp_path: Path) -> None:
    server, cert, key = wanting.server, tmp_path / "client.crt", tmp_path / "client.key"
    assert isinstance(server, BaoServer)
    assert server.client_certificate is not None
    ended, renewed = server.authority.client("old", ended=True), server.client_certificate
    cert.write_bytes(ended.cert.read_bytes())
    key.write_bytes(ended.key.read_bytes())
    provider = wanting.provider(client_cert=str(cert), client_key=str(key))
    for content in (ended.cert.read_bytes(), renewed.cert.read_bytes()):  # its key is not there yet
        cert.write_bytes(content)
        with pytest.raises(MisconfiguredError, match="has not expired"):
            works(provider)
    cert.unlink()
    with pytest.raises(MisconfiguredError, match="has not expired"):
        works(provider)
    cert.write_bytes(renewed.cert.read_bytes())
    key.write_bytes(renewed.key.read_bytes())
    assert works(provider)
    cert.write_bytes(server.authority.client("next").cert.read_bytes())  # half of the next one: ours is still good
    assert provider._session is not None
    provider._session.close()  # so that a connection is made
    assert works(provider)


@openbao
def test_a_login_shows_the_certificate_too(wanting: Transit) -> None:
    """It comes to be refused for its role, and no further without a certificate."""
    login = AppRole("role", SecretText("s"))
    with pytest.raises(KmsError, match="check role id"):
        wanting.provider(login=login, **certificate_of(wanting)).wrap(KEY, b"p")
    with pytest.raises(MisconfiguredError, match="client_cert and client_key"):
        wanting.provider(login=login).wrap(KEY, b"p")


def refused(**files: str | Path | None) -> str:
    settings = ProviderSettings(**{name: str(path) for name, path in files.items()})  # type: ignore[arg-type]
    with pytest.raises(MisconfiguredError) as raised:
        TlsFiles(settings)
    assert raised.value.__cause__ is None
    return str(raised.value)


def test_a_file_that_cannot_be_read_is_named_with_its_setting(tmp_path: Path) -> None:
    missing, issued = tmp_path / "missing.pem", Authority(tmp_path).client()
    for said, setting in (
        (refused(ca_file=missing), "check ca_file"),
        (refused(client_cert=missing), "check client_cert"),
        (refused(client_cert=issued.cert, client_key=missing), "check client_key"),
    ):
        assert f"{missing} cannot be read (No such file or directory)" in said
        assert setting in said
    assert f"{tmp_path} cannot be read (Is a directory)" in refused(ca_file=tmp_path)


def test_a_file_that_is_not_what_it_should_be_is_named(tmp_path: Path) -> None:
    junk, issued = tmp_path / "junk.pem", Authority(tmp_path).client()
    other = Authority(tmp_path / "other").client()
    junk.write_text("hunter2")
    assert f"{junk} is not PEM" in refused(ca_file=junk)
    assert f"{junk} are not a certificate and its key" in refused(client_cert=junk)
    assert f"{issued.cert} and {junk} are not" in refused(client_cert=issued.cert, client_key=junk)
    assert f"{issued.cert} are not a certificate and its key" in refused(client_cert=issued.cert)
    said = refused(client_cert=issued.cert, client_key=other.key)
    assert f"the key in {other.key} is not that of the certificate in {issued.cert}" in said


def test_a_key_with_a_passphrase_is_refused_without_asking_on_the_terminal(tmp_path: Path) -> None:
    issued, locked = Authority(tmp_path).client(), tmp_path / "locked.key"
    write_key(locked, ec.generate_private_key(ec.SECP256R1()), b"hunter2")
    said = refused(client_cert=issued.cert, client_key=locked)
    assert f"the key in {locked} has a passphrase" in said


@pytest.mark.parametrize("closing", [b"", b"\x15\x03\x03\x00\x02\x02\x50"], ids=["end of file", "internal error"])
def test_a_server_that_breaks_off_the_handshake_is_an_outage(tmp_path: Path, closing: bytes) -> None:
    """So does a balancer with nothing behind it, and a server that is killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(closing)

        server = threading.Thread(target=close)
        server.start()
        settings = ProviderSettings(token=SecretText("t"), ca_file=str(Authority(tmp_path).ca))
        uri = f"hcvault://127.0.0.1:{listener.getsockname()[1]}/transit/keys/k"
        with pytest.raises(UnavailableError, match="broke off the TLS handshake"):
            TransitProvider(TransitAddress.parse(uri), settings, patience=ONCE).wrap(KEY, b"p")
        server.join()


def test_a_server_that_speaks_no_tls_is_misconfigured(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        server = threading.Thread(target=answer)
        server.start()
        settings = ProviderSettings(token=SecretText("t"), ca_file=str(Authority(tmp_path).ca))
        uri = f"hcvault://127.0.0.1:{listener.getsockname()[1]}/transit/keys/k"
        with pytest.raises(MisconfiguredError, match=r"do not agree on TLS .*set NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK=1"):
            TransitProvider.from_uri(uri, settings).wrap(KEY, b"p")
        server.join()
