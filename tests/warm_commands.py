"""Warm commands: `noisevault` or `alembic` in a process of its own, forked from one that has imported it already.

To import costs more than most commands do, and pages are followed by dozens of them. How a command starts from nothing
is tested where that is the matter (tests/vault/cli/test_app.py, tests/flows/faults).
"""

import atexit
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SECONDS: Final = 60.0
DIALECTS: Final = ("sqlite://", "postgresql+psycopg://", "mariadb+pymysql://")
# Started anew for each command, it imports next to nothing.
CLIENT: Final = """#!{python} -IS
import json, os, socket, sys
said = json.dumps({{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}).encode()
asked = socket.socket(socket.AF_UNIX)
asked.connect({path!r})
socket.send_fds(asked, [len(said).to_bytes(8, "big")], [0, 1, 2])
asked.sendall(said)
status = asked.recv(8)
sys.exit(int(status) if status else 137)
"""


@cache
def warm_program(name: str = "noisevault") -> Path:
    """A program to start in place of `name`, in a folder of its own. It lasts as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    path = Path(folder.name)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_commands", str(path / "socket"), name],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
    )
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            server.kill()
            server.communicate()
            folder.cleanup()

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"warm\n"
    program = path / name
    program.write_text(CLIENT.format(python=sys.executable, path=str(path / "socket")), encoding="utf-8")
    program.chmod(0o700)
    return program


def noisevault() -> Callable[[], object]:
    from vault.cli import main
    from vault.cli.commands import Commands

    commands = Commands()
    for name in commands:
        commands[name]
    return main


def alembic() -> Callable[[], object]:
    import alembic.autogenerate
    import alembic.command
    import alembic.config
    import psycopg  # noqa: F401
    import pymysql  # noqa: F401
    from sqlalchemy.dialects import mysql, postgresql, sqlite  # noqa: F401

    import vault  # noqa: F401

    return alembic.config.main


def serve(path: str, name: str) -> None:
    """Fork for each command that is asked for."""
    main = {"noisevault": noisevault, "alembic": alembic}[name]()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    sys.stdout.write("warm\n")
    sys.stdout.flush()
    while True:
        asked, _ = listening.accept()
        with suppress(ChildProcessError):  # those that ended are waited for: their CPU time counts as this process's
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            listening.close()
            do(asked, name, main)
        asked.close()


def do(asked: socket.socket, name: str, main: Callable[[], object]) -> None:
    """In the forked process: what a new one would find, and the status to whoever asked."""
    head, files, _, _ = socket.recv_fds(asked, 8, 3)
    wanted = int.from_bytes(head, "big")
    said = b""
    while len(said) < wanted:
        said += asked.recv(wanted - len(said))
    told = json.loads(said)
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    sys.path[0] = ""
    sys.argv = [name, *told["words"]]
    sys.stdin, sys.stdout, sys.stderr = (open(at, "w" if at else "r", closefd=False) for at in range(3))  # noqa: SIM115
    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.sendall(b"%d" % status)
        os._exit(status)


if __name__ == "__main__":
    serve(*sys.argv[1:])
