"""A server that answers, but so slowly that nobody should wait for it: a byte at a time, for ten seconds, or none."""

import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.servers.authority import Issued

SECONDS_A_BYTE = 0.05
ENDLESS = b"x" * 200
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LONG = 5 * 2**20
PACKED = gzip.compress(bytes(64 * 2**20))
# From where on each answer comes byte by byte.
ANSWERS = {
    "status line": (b"", HEAD + ENDLESS),
    "header": (HEAD, b"X-Slow: " + ENDLESS),
    "body": (HEAD + b"Content-Length: 100000\r\n\r\n", ENDLESS),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 40),
    "nothing": (b"", b""),
    # At once, but more than anybody should keep in memory.
    "long": (HEAD + b"Content-Length: %d\r\n\r\n" % LONG + bytes(LONG), b""),
    "packed": (HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED, b""),
    # It takes in what is sent, at some megabytes a second.
    "request": (b"", b""),
    # The beginning of a TLS record of a server's hello.
    "handshake": (b"", b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc" + ENDLESS),
}


class Trickle:
    """asked: connections so far."""

    def __init__(self, stage: str, certificate: Issued | None) -> None:
        self.asked = 0
        self._at_once, self._slowly = ANSWERS[stage]
        self._stage = stage
        self._context = None
        if certificate is not None and stage != "handshake":
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate.cert, certificate.key)
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.asked += 1
            thread = threading.Thread(target=self._answer, args=[connection])
            self._threads.append(thread)
            thread.start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(10)
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                while self._stage == "request" and not self._stop.wait(SECONDS_A_BYTE):
                    for _ in range(16):
                        if not connection.recv(16384):
                            return
                if self._stage != "nothing":
                    connection.recv(65536)
                connection.sendall(self._at_once)
                for byte in self._slowly:
                    if self._stop.wait(SECONDS_A_BYTE):
                        return
                    connection.sendall(bytes([byte]))
                self._stop.wait()

    def stop(self) -> None:
        self._stop.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        for thread in self._threads:
            thread.join()
        self._listener.close()


@contextmanager
def trickle(stage: str, certificate: Issued | None = None) -> Iterator[Trickle]:
    """stage: a key of ANSWERS. certificate: to speak TLS."""
    server = Trickle(stage, certificate)
    try:
        yield server
    finally:
        server.stop()
