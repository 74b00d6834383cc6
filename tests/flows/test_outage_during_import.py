"""OpenBao is killed while a file is imported: no row is lost, none is stored twice, and it says how far it came."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, create_engine, func, select

from kms import Keyring, KeyStore, LeaseSettings, UnavailableError, open_key_database
from kms.patience import Patience
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import ONCE, Transit, transit_on, while_waiting
from tests.servers.bao_server import BaoServer
from tests.vault.cli.conftest import Run
from tests.vault.projects import visit, write_policy
from vault.attaching import attach
from vault.files.load import ROWS_A_STATEMENT, load
from vault.opened import OpenedVault
from vault.policy import Policy
from vault.schema import tables

pytestmark = pytest.mark.openbao
HEADER = "person,year,site,national_id,diagnosis,spending\n"
ROWS = 4000  # about 118 kB: more than a pipe and the first statement hold
SECONDS = 60


@pytest.fixture
def transit(bao_raft: BaoServer) -> Iterator[Transit]:
    with transit_on(bao_raft, f"import-{os.urandom(4).hex()}") as transit:
        transit.create()
        yield transit
        bao_raft.bring_back()


@pytest.fixture
def policy(transit: Transit, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    """Of a project that was made by the command, with its key on the server."""
    path = write_policy(tmp_path)
    path.write_text(path.read_text().replace("local:kek", transit.uri()))
    monkeypatch.setenv("VAULT_TOKEN", transit.server.root_token)
    monkeypatch.setenv("VAULT_CACERT", transit.server.settings["ca_file"])
    made = run("init")
    assert made.status == 0, made.err
    return Policy.load(path)


def lines(first: int, last: int) -> str:
    return "".join(f"{n},1,{1 + n % 3},99-{n:05d},asthma,{n % 100}.5\n" for n in range(first, last))


def stored(policy: Policy) -> tuple[int, int]:
    """Rows, and different persons among them."""
    engine, table = create_engine(policy.database_url), tables(policy).tables["visit"]
    with engine.connect() as connection:
        rows = connection.scalar(select(func.count()).select_from(table))
        persons = connection.scalar(select(func.count(table.c.person.distinct())))
    engine.dispose()
    return int(rows or 0), int(persons or 0)


def test_the_command_does_not_notice_a_kill_within_the_leases(
    policy: Policy, run: Run, tmp_path: Path, bao_raft: BaoServer
) -> None:
    """It reads from a pipe; when the first half is through, the server is killed."""
    pipe = tmp_path / "visits.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", "from vault.cli import main; main()", "import", "visits.csv"]
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as importing:
        with pipe.open("w") as file:
            file.write(HEADER + lines(0, ROWS))
            file.flush()  # returns when the other side has taken all but what the pipe holds
            bao_raft.kill9()
            file.write(lines(ROWS, 2 * ROWS))
        out, err = importing.communicate(timeout=SECONDS)
    assert (importing.returncode, err) == (0, "")
    assert f"{2 * ROWS} rows sealed and stored" in out
    assert stored(policy) == (2 * ROWS, 2 * ROWS)
    bao_raft.bring_back()
    for person in (0, ROWS - 1, ROWS, 2 * ROWS - 1):  # before the outage and in it
        assert f"99-{person:05d}" in run("find", "national_id", f"99-{person:05d}").out
    checked = run("check")
    assert checked.status == 0, checked.out + checked.err


def test_the_command_that_cannot_begin_says_so_and_begins_after_the_outage(
    policy: Policy, run: Run, tmp_path: Path, bao_raft: BaoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "visits.csv").write_text(HEADER + lines(0, 10))
    monkeypatch.setenv("NOISEVAULT_KEY_DEADLINE", "0.2")
    bao_raft.kill9()
    refused = run("import", "visits.csv")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "does not answer" in refused.err
    assert stored(policy) == (0, 0)
    bao_raft.bring_back()
    assert run("import", "visits.csv").status == 0
    assert stored(policy) == (10, 10)


class Import:
    """An import in this process, whose keys are held as long as `leases` and `clock` say."""

    def __init__(self, policy: Policy, transit: Transit, clock: ManualClock, patience: Patience = ONCE) -> None:
        store = KeyStore(open_key_database(policy.keys_url))
        provider = transit.provider(patience=patience)
        leases = LeaseSettings(sealing=180, unwrapped_soft=30, unwrapped_hard=60)
        self.keyring = Keyring.open(store, provider, policy.vault.keyring, leases=leases, clock=clock, refresh=False)
        self.engine: Engine = create_engine(policy.database_url, hide_parameters=True)
        metadata = tables(policy)
        attach(self.engine, OpenedVault(self.keyring, store), metadata)
        self.table: Table = metadata.tables["visit"]

    def run(self, in_the_middle: Callable[[], object]) -> int:
        return load(self.engine, self.table, self._rows(in_the_middle))

    def _rows(self, in_the_middle: Callable[[], object]) -> Iterator[tuple[int, dict[str, Any]]]:
        for person in range(3 * ROWS_A_STATEMENT):
            if person == 2 * ROWS_A_STATEMENT:
                in_the_middle()
            yield person + 2, visit(person)


def test_an_outage_that_outlasts_the_leases_stores_nothing_and_the_file_is_imported_again(
    policy: Policy, transit: Transit, bao_raft: BaoServer
) -> None:
    clock = ManualClock()
    importing = Import(policy, transit, clock)

    def outage() -> None:
        bao_raft.kill9()
        clock.advance(60)

    with pytest.raises(UnavailableError, match="nothing was stored: import the whole file again"):
        importing.run(outage)
    assert stored(policy) == (0, 0)
    bao_raft.restart()
    with pytest.raises(UnavailableError, match=r"sealed.*nothing was stored"):
        importing.run(lambda: None)
    assert stored(policy) == (0, 0)
    bao_raft.unseal()
    assert importing.run(lambda: None) == 3 * ROWS_A_STATEMENT
    assert stored(policy) == (3 * ROWS_A_STATEMENT, 3 * ROWS_A_STATEMENT)


def test_an_outage_within_the_hard_lease_is_not_noticed(policy: Policy, transit: Transit, bao_raft: BaoServer) -> None:
    clock = ManualClock()

    def outage() -> None:
        bao_raft.kill9()
        clock.advance(59)

    assert Import(policy, transit, clock).run(outage) == 3 * ROWS_A_STATEMENT
    assert stored(policy) == (3 * ROWS_A_STATEMENT, 3 * ROWS_A_STATEMENT)


def test_an_outage_that_ends_before_the_deadline_is_waited_for(
    policy: Policy, transit: Transit, bao_raft: BaoServer
) -> None:
    clock, patience = ManualClock(), while_waiting(bao_raft.restart, bao_raft.unseal)

    def outage() -> None:
        bao_raft.kill9()
        clock.advance(60)

    assert Import(policy, transit, clock, patience).run(outage) == 3 * ROWS_A_STATEMENT
    assert stored(policy) == (3 * ROWS_A_STATEMENT, 3 * ROWS_A_STATEMENT)
