"""Adapter: requests that end within their timeout as a whole, however slowly the server speaks.

The timeouts of requests count anew with each read, so that a server which sends a byte now and then is waited for
without end. Here each read and write of the socket gets what is left of the request's time: no thread watches over it.
Only the look-up of the host's name takes as long as the system's resolver does.
"""

import math
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from kms.deadline import ends

__all__ = ["PastDeadlineError", "RedirectedError", "TimedAdapter", "TimedTlsSocket", "TooLongError"]

# Ours: threads of one process that may ask at the same time before a connection is made and thrown away.
CONNECTIONS: Final = 16

# Ours: 200 wrapped keys make some 50 KB; what is longer, packed or not, is not an answer.
LONGEST_ANSWER_BYTES: Final = 4 * 2**20
READ_BYTES: Final = 2**16

_request_ends: Final[ContextVar[float]] = ContextVar("request_ends", default=math.inf)


class PastDeadlineError(requests.exceptions.Timeout):
    """The request was not begun: the deadline of the call that it is part of is over."""


class RedirectedError(requests.exceptions.RequestException):
    """The server, as a standby may, sends to another one; who goes there takes the token along."""


class TooLongError(requests.exceptions.RequestException):
    """The answer has more bytes than any that a key service gives."""


class TimedAdapter(HTTPAdapter):
    """For one server. context: of its TLS connections; it makes TimedTlsSocket. None for plain http.

    refresh: called before each request, to bring the context up to date. Shared by threads.
    """

    def __init__(self, context: ssl.SSLContext | None, refresh: Callable[[], None] = lambda: None) -> None:
        self._context = context
        self._refresh = refresh
        super().__init__(pool_maxsize=CONNECTIONS, max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, ssl_context=self._context, **more)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def send(
        self,
        request: Any,
        stream: bool = False,  # noqa: ARG002  # what is not read here is not timed
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        """The response, whose body is read already. timeout: seconds for all of it.

        Raises: PastDeadlineError, RedirectedError, and what requests raises.
        """
        now = time.monotonic()
        if now >= ends():
            raise PastDeadlineError
        self._refresh()
        token = _request_ends.set(now + timeout)
        try:
            response = super().send(request, stream=True, timeout=timeout, verify=verify, cert=cert, proxies=proxies)
            _read(response)  # here, where its time is counted
        finally:
            _request_ends.reset(token)
        if response.is_redirect:
            raise RedirectedError
        return response


def _read(response: requests.Response) -> None:
    """Keep the body, unpacked, as requests does. Raises: TooLongError, and what requests raises."""
    parts, size = [], 0
    for part in response.iter_content(READ_BYTES):
        parts.append(part)
        size += len(part)
        if size > LONGEST_ANSWER_BYTES:
            response.close()
            raise TooLongError
    response._content = b"".join(parts)  # noqa: SLF001  # requests has no other way to bound what it reads


class _TimedSocket(socket.socket):
    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        return super().recv_into(*arguments)

    def sendall(self, *arguments: Any) -> None:
        _limit(self)
        super().sendall(*arguments)


class TimedTlsSocket(ssl.SSLSocket):
    """Its handshake is bounded by Python, whose timeout of a handshake is for all of it.

    With TLS 1.3 a server refuses a client after the handshake, when we send already: what cannot be sent any more is
    told by the alert that came before, if there is one.
    """

    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        return super().recv_into(*arguments)

    def send(self, *arguments: Any) -> int:  # sendall() sends by this
        _limit(self)
        try:
            return super().send(*arguments)
        except ssl.SSLEOFError:
            super().recv(1)  # raises the alert
            raise


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _TlsConnection(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def _connected(connection: HTTPConnection) -> socket.socket:
    """To the first address that takes us; each waits for its part of the time, so that one dead host is passed over."""
    addresses = socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
    failure: OSError = OSError("the host has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        new = _TimedSocket(family, kind, protocol)
        try:
            for option in connection.socket_options or ():
                new.setsockopt(*option)
            _limit(new, parts=len(addresses) - number)
            new.connect(address)
            _limit(new)
        except OSError as error:
            new.close()
            failure = error
        else:
            return new
    raise failure


def _limit(timed: socket.socket, parts: int = 1) -> None:
    """Raises: TimeoutError if the request's time is over."""
    end = _request_ends.get()
    if end != math.inf:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request's time is over")
        timed.settimeout(left / parts)
