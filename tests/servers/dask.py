"""A Dask scheduler and workers, each a process of its own, that speak TLS with each other on this machine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.authority import Authority

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class DaskServers:
    """security: for a client. noted: all that the scheduler read and wrote. workers: their processes."""

    address: str
    environment: dict[str, str]
    noted: Path
    workers: list["subprocess.Popen[bytes]"]

    @property
    def security(self) -> Any:
        from distributed import Security

        tls = "DASK_DISTRIBUTED__COMM__TLS__"
        of = {name: self.environment[f"{tls}CLIENT__{name}"] for name in ("CERT", "KEY")}
        ca = self.environment[f"{tls}CA_FILE"]
        return Security(require_encryption=True, tls_ca_file=ca, tls_client_cert=of["CERT"], tls_client_key=of["KEY"])


@contextmanager
def dask_servers(folder: Path, workers: int = 2) -> Iterator[DaskServers]:
    """The workers have the project's root in their path, and this process's environment."""
    authority = Authority(folder / "tls")
    peer, tls = authority.peer(), "DASK_DISTRIBUTED__COMM__TLS__"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        f"{tls}CA_FILE": str(authority.ca),
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        "DASK_DISTRIBUTED__COMM__COMPRESSION": "None",
    }
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        environment |= {f"{tls}{role}__CERT": str(peer.cert), f"{tls}{role}__KEY": str(peer.key)}
    noted, file, log = folder / "noted", folder / "scheduler.json", (folder / "dask.log").open("wb")
    told = {"env": environment, "stdout": log, "stderr": log, "cwd": folder}
    with ExitStack() as ended:
        ended.enter_context(log)

        def begin(*words: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen([sys.executable, "-m", *words], **told)  # type: ignore[call-overload]
            ended.callback(process.wait)
            ended.callback(process.kill)
            return process  # type: ignore[no-any-return]

        place = ("--host", "127.0.0.1", "--no-dashboard")
        begin(
            "tests.servers.noted_scheduler", str(noted), *place, "--port", "0", "--protocol", "tls", "--no-show",
            "--scheduler-file", str(file),
        )  # fmt: skip
        address = _address(file)
        made = [
            begin("distributed.cli.dask_worker", address, *place, "--nthreads", "1", "--no-nanny")
            for _ in range(workers)
        ]
        yield DaskServers(address, environment, noted, made)


def _address(file: Path) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError("the scheduler does not begin")
