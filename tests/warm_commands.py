"""Warm commands: `noisevault` in a process of its own, forked from one that has imported everything already.

To import costs more than most commands do, and pages are followed by dozens of them. How a command starts from nothing
is tested where that is the matter (tests/vault/cli/test_app.py, tests/flows/faults). At the suite's size `alembic` and
`python` of the pages are warm too; in scripts/soak they are those of the environment.
"""

import atexit
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.sizes import sized

ROOT: Final = Path(__file__).parents[1]
SECONDS: Final = 60.0
DIALECTS: Final = ("sqlite://", "postgresql+psycopg://", "mariadb+pymysql://")
# Started anew for each command, it imports next to nothing.
CLIENT: Final = """#!{python} -IS
import json, os, socket, sys
program = os.path.basename(sys.argv[0])
said = {{"program": program, "words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
said = json.dumps(said).encode()
asked = socket.socket(socket.AF_UNIX)
asked.connect({path!r})
socket.send_fds(asked, [len(said).to_bytes(8, "big")], [0, 1, 2])
asked.sendall(said)
status = asked.recv(8)
sys.exit(int(status) if status else 137)
"""


def warm_program(name: str = "noisevault") -> Path:
    """A program to start in place of `name`, in a folder of all of them. It lasts as long as this process."""
    program = _programs() / name
    return program if program.exists() else Path(sys.executable).with_name(name)


@cache
def _programs() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    path = Path(folder.name)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_commands", str(path / "socket")],
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
    for name in ("noisevault", *(("alembic", "python") if sized(1, 0) else ())):
        program = path / name
        program.write_text(CLIENT.format(python=sys.executable, path=str(path / "socket")), encoding="utf-8")
        program.chmod(0o700)
    return path


def serve(path: str) -> None:
    """Fork for each command that is asked for."""
    import alembic.autogenerate
    import alembic.command
    import alembic.config  # noqa: F401
    from sqlalchemy import create_engine

    import tests.everything  # noqa: F401
    from vault.cli.commands import Commands

    commands = Commands()
    for name in commands:
        commands[name]
    for dialect in DIALECTS:
        create_engine(dialect)
    sys.dont_write_bytecode = True  # a file that is changed twice within a second would be read as it was
    gc.freeze()  # what is here already is not looked through, and so not copied, in each forked process
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
            do(asked)
        asked.close()


def do(asked: socket.socket) -> None:
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
    sys.path[1:1] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.stdin, sys.stdout, sys.stderr = (open(at, "w" if at else "r", closefd=False) for at in range(3))  # noqa: SIM115
    status = 1
    try:
        PROGRAMS[told["program"]](told["words"])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # as the end of a process tells it
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.sendall(b"%d" % status)
        os._exit(status)


def noisevault(words: list[str]) -> None:
    from vault.cli import main

    sys.path[0] = ""
    sys.argv = ["noisevault", *words]
    main()


def alembic(words: list[str]) -> None:
    from alembic.config import main

    sys.path[0] = str(Path(sys.executable).parent)
    sys.argv = ["alembic", *words]
    main(prog="alembic")


def python(words: list[str]) -> None:
    """`python [-W ACTION] FILE|-c PROGRAM WORDS`."""
    sys.path[0] = ""
    if words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        words = words[2:]
    if words[0] == "-c":
        main = sys.modules["__main__"] = ModuleType("__main__")
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


PROGRAMS: Final[dict[str, Callable[[list[str]], None]]] = {
    "noisevault": noisevault,
    "alembic": alembic,
    "python": python,
}


if __name__ == "__main__":
    serve(sys.argv[1])
