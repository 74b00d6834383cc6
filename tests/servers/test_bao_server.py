"""No server outlives the tests, even when they are killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers.bao_server import WITHIN_SECONDS, BaoServer

ROOT = Path(__file__).parents[2]
PROGRAM = """
import signal, sys
from pathlib import Path
from tests.servers.bao_server import BaoServer
print(BaoServer(Path(sys.argv[1])).pid, flush=True)
signal.pause()
"""

pytestmark = pytest.mark.openbao


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Where nobody collects the dead, they stay in the table of processes.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="only setpriv can do it")
def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert is_alive(pid)
        starter.send_signal(signal.SIGKILL)
    end = time.monotonic() + WITHIN_SECONDS
    while is_alive(pid):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_killed_and_restarted_it_has_its_port_and_its_data(bao_raft: BaoServer) -> None:
    port, cluster = bao_raft.port, bao_raft.client().sys.read_health_status(method="GET")["cluster_id"]
    bao_raft.kill9()
    bao_raft.restart()
    assert bao_raft.port == port
    assert bao_raft.client().sys.is_sealed()
    bao_raft.unseal()
    assert bao_raft.client().sys.read_health_status(method="GET")["cluster_id"] == cluster
