"""A proxy before PostgreSQL that loses one COMMIT, or the answer to it."""

import contextlib
import socket
import tempfile
import threading
from pathlib import Path

from sqlalchemy import URL, make_url

SOCKET = ".s.PGSQL.5432"


class DroppingProxy:
    """drop: "nothing", "commit" (the server never sees it) or "answer" (the server has done it). Each happens once."""

    def __init__(self, url: str) -> None:
        target = make_url(url)
        self.drop = "nothing"
        self.dropped = 0
        self._server = f"{target.query['host']}/.s.PGSQL.{target.port or target.query.get('port') or 5432}"
        self._directory = tempfile.TemporaryDirectory(prefix="proxy-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._directory.name) / SOCKET))
        self._listener.listen()
        self.url: URL = target.update_query_dict({"host": self._directory.name})
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self._directory.cleanup()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if b"COMMIT\0" in data and self.drop != "nothing":
                    drop, self.drop = self.drop, "nothing"
                    self.dropped += 1
                    # The client is cut off first, so that no byte of the answer can reach it.
                    client.shutdown(socket.SHUT_RDWR)
                    if drop == "answer":
                        server.sendall(data)
                    break
                server.sendall(data)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _copy(server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                with contextlib.suppress(OSError):  # go on reading, so that the server is never held up
                    client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()
        server.close()
