"""A proxy before PostgreSQL or MariaDB that loses one COMMIT, or the answer to it."""

import contextlib
import socket
import tempfile
import threading
from pathlib import Path

from sqlalchemy import URL, make_url

POSTGRES_SOCKET = ".s.PGSQL.5432"
# A query of PostgreSQL's protocol; a packet of MariaDB's, whose first byte says that it is one.
COMMITS = (b"COMMIT\0", b"\x03COMMIT")


class DroppingProxy:
    """drop: "nothing", "commit" (the server never sees it) or "answer" (the server has done it). Each happens once."""

    def __init__(self, url: str) -> None:
        target = make_url(url)
        self.drop = "nothing"
        self.dropped = 0
        self._directory = tempfile.TemporaryDirectory(prefix="proxy-")
        own = Path(self._directory.name) / POSTGRES_SOCKET
        if "unix_socket" in target.query:
            self._server = str(target.query["unix_socket"])
            self.url: URL = target.update_query_dict({"unix_socket": str(own)})
        else:
            self._server = f"{target.query['host']}/.s.PGSQL.{target.port or target.query.get('port') or 5432}"
            self.url = target.update_query_dict({"host": self._directory.name})
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(own))
        self._listener.listen()
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
                if any(commit in data for commit in COMMITS) and self.drop != "nothing":
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
