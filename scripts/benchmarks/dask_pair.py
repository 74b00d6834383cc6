"""Dask pair: a scheduler and two workers on this machine, each a process of its own, for a benchmark."""

import datetime as dt
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["dask_pair"]

SECONDS = 60.0


@contextmanager
def dask_pair(folder: Path) -> Iterator[tuple[str, Any]]:
    """Give the scheduler's address and what a client needs to reach it."""
    from distributed import Security

    pem = folder / "dask.pem"
    _write_certificate(pem)
    tls = ("--tls-ca-file", str(pem), "--tls-cert", str(pem), "--tls-key", str(pem))
    place = ("--host", "127.0.0.1", "--no-dashboard", *tls)
    file, root = folder / "scheduler.json", Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": str(root)}
    with ExitStack() as ended, (folder / "dask.log").open("wb") as log:

        def begin(*words: str) -> None:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], env=environment, cwd=folder, stdout=log, stderr=log
            )
            ended.callback(process.wait)
            ended.callback(process.kill)

        begin(
            "distributed.cli.dask_scheduler", *place, "--port", "0", "--protocol", "tls", "--scheduler-file", str(file)
        )
        address = _address(file)
        for _ in range(2):
            begin("distributed.cli.dask_worker", address, *place, "--nthreads", "1", "--no-nanny")
        yield (
            address,
            Security(require_encryption=True, tls_ca_file=str(pem), tls_client_cert=str(pem), tls_client_key=str(pem)),
        )


def _address(file: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise RuntimeError("the scheduler does not begin")


def _write_certificate(path: Path) -> None:
    """A key and a certificate signed by itself, good for a day."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bench")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.touch(0o600)
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
