"""Transit TLS: whom the client trusts, who it says it is, and what a handshake that fails means."""

import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import requests
from urllib3.util.ssl_ import create_urllib3_context

from kms.errors import KmsError, MisconfiguredError, UnavailableError
from kms.provider_settings import ProviderSettings
from kms.providers.hcvault_adapter import TimedTlsSocket
from kms.regular_file import open_regular

__all__ = ["TlsFiles", "tls_error"]

# OpenSSL's names of the alerts by which a server refuses the certificate of a client, or the lack of one.
_CLIENT_REFUSED: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_UNSUPPORTED_CERTIFICATE",
    "ALERT_CERTIFICATE_REVOKED",
    "ALERT_CERTIFICATE_EXPIRED",
    "ALERT_CERTIFICATE_UNKNOWN",
    "ALERT_UNKNOWN_CA",
    "ALERT_ACCESS_DENIED",
    "ALERT_HANDSHAKE_FAILURE",
    "ALERT_DECRYPT_ERROR",
)
# A server, or a balancer before it, that is going down or has nothing behind it.
_OUTAGE: Final = ("ALERT_INTERNAL_ERROR",)
# What answered speaks no TLS at all.
_PLAIN: Final = "WRONG_VERSION_NUMBER"


class TlsFiles:
    """What all connections of a session are made by, in .context. Shared by threads."""

    def __init__(self, settings: ProviderSettings) -> None:
        """The files are read now. Raises: MisconfiguredError, which names the file."""
        self._settings = settings
        self._lock = threading.Lock()
        self.context = create_urllib3_context()
        self.context.sslsocket_class = TimedTlsSocket
        if settings.ca_file is not None:
            _trust(self.context, settings.ca_file)
        self._stamps = self._stamps_now()
        if settings.client_cert is not None:
            _present(self.context, settings.client_cert, settings.client_key)

    def refresh(self) -> None:
        """Show a renewed client certificate at the next handshake, once both its files can be read and fit."""
        cert, key, stamps = self._settings.client_cert, self._settings.client_key, self._stamps_now()
        if cert is None or stamps == self._stamps:
            return
        with self._lock, suppress(MisconfiguredError):
            _present(create_urllib3_context(), cert, key)  # one that is half written must not spoil ours
            _present(self.context, cert, key)
            self._stamps = stamps

    def _stamps_now(self) -> list[tuple[int, int, int] | None]:
        """When each file was last written, or exchanged for another."""
        return [_stamp(path) for path in (self._settings.client_cert, self._settings.client_key) if path is not None]


def tls_error(raised: requests.exceptions.SSLError, kek: str, settings: ProviderSettings) -> KmsError:
    """Our error for a handshake that failed, or a connection that was ended by an alert."""
    found = next(_openssl_errors(raised), None)
    reason = (found.reason if found is not None else None) or "no reason given"
    if isinstance(found, ssl.SSLCertVerificationError):
        ca_file = f"ca_file {settings.ca_file}" if settings.ca_file else "ca_file, which is not set"
        return MisconfiguredError(
            f"the TLS certificate of the server of {kek} is not trusted ({found.verify_message}): check {ca_file}, and"
            " the name in the address"
        )
    if isinstance(found, ssl.SSLEOFError | ssl.SSLZeroReturnError) or any(name in reason for name in _OUTAGE):
        return UnavailableError(f"the server of {kek} broke off the TLS handshake ({type(found).__name__})")
    if any(name in reason for name in _CLIENT_REFUSED):
        if settings.client_cert is None:
            return MisconfiguredError(
                f"the server of {kek} refuses a client without certificate ({reason}): name the files of one by"
                " client_cert and client_key"
            )
        return MisconfiguredError(
            f"the server of {kek} refuses the client certificate {settings.client_cert} ({reason}): check that an"
            " authority which the server trusts signed it for clients, and that it has not expired"
        )
    plain = (
        "; for plain http, to this machine only, set NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK=1" if _PLAIN in reason else ""
    )
    return MisconfiguredError(
        f"the server of {kek} and this client do not agree on TLS ({reason}): check port and protocol of the"
        f" address{plain if _PLAIN in reason else ''}"
    )


def _trust(context: ssl.SSLContext, ca_file: str) -> None:
    _require_readable(ca_file, "CA file", "ca_file")
    try:
        context.load_verify_locations(ca_file)
    except (ssl.SSLError, OSError):
        raise MisconfiguredError(f"the CA file {ca_file} is not PEM certificates: check ca_file") from None


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _present(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    _require_readable(certificate, "client certificate", "client_cert")
    if key is not None:
        _require_readable(key, "key of the client certificate", "client_key")
    encrypted: list[bool] = []

    def no_password() -> str:  # else OpenSSL asks on the terminal, and waits
        encrypted.append(True)
        return ""

    try:
        context.load_cert_chain(certificate, key, no_password)
    except (ssl.SSLError, OSError, ValueError) as raised:
        named = "client_key" if key else "client_cert"
        if encrypted:
            problem = f"the key in {key or certificate} has a passphrase: give one without, mode 0600, by {named}"
        elif isinstance(raised, ssl.SSLError) and raised.reason == "KEY_VALUES_MISMATCH":
            problem = f"the key in {key or certificate} is not that of the certificate in {certificate}: check {named}"
        else:
            where = f"{certificate} and {key}" if key else certificate
            problem = f"{where} are not a certificate and its key in PEM: check client_cert and client_key"
    else:
        return
    raise MisconfiguredError(problem)


def _require_readable(path: str, what: str, setting: str) -> None:
    try:
        os.close(open_regular(path))
    except OSError as error:
        raise MisconfiguredError(f"the {what} {path} cannot be read ({error.strerror}): check {setting}") from None


def _openssl_errors(raised: BaseException | None, depth: int = 8) -> Iterator[ssl.SSLError]:
    """requests and urllib3 wrap OpenSSL's error in their own, some in an argument and some as the cause."""
    if isinstance(raised, ssl.SSLError):
        yield raised
    elif raised is not None and depth:
        wrapped = [getattr(raised, "reason", None), *raised.args, raised.__cause__, raised.__context__]
        for one in wrapped:
            if isinstance(one, BaseException):
                yield from _openssl_errors(one, depth - 1)
