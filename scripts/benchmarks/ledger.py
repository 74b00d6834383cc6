"""A durable charge over four scopes, with its audit entry, against the least that is durable: one row, updated.

On SQLite, PostgreSQL and MariaDB, all with waits for the disk; and on PostgreSQL by eight processes at once, whose
updates are of one row too. The keys are a real keyring's.
"""

import multiprocessing
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from sqlalchemy import Engine, create_engine, text

from dp.ledger.ledger import Ledger
from dp.ledger.limits.budgets import Budgets, Scope
from dp.price import Price
from dp.request import Request
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from scripts.benchmarks.mariadb_server import mariadb_server
from scripts.benchmarks.postgres_server import postgres_server
from vault.ledger_keys import LedgerAuditMacs, LedgerSealer, question_mac
from vault.opened import OpenedVault

__all__ = ["comparisons"]

ALONE = 50
PROCESSES, EACH = 8, 25
CAP = 10**14
KINDS = (("dataset", "", "day"), ("column", "age", "week"), ("analyst", "", "month"), ("group", "all", "ever"))
BUDGETS = Budgets(
    CAP,
    scopes=tuple(Scope(*kind, CAP) for kind in KINDS),
    members=tuple(("all", f"analyst {number}") for number in range(PROCESSES)),
)
UPDATED, CHARGED = "one row updated and committed", "a charge over four scopes"
FORKS = multiprocessing.get_context("fork")
TIMEOUT = 120.0


def comparisons() -> Iterator[Comparison]:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        vault = fresh_vault(Path(folder))
        stack.callback(vault.close)
        postgres = stack.enter_context(postgres_server(durable=True))
        urls = {
            "SQLite": f"sqlite:///{Path(folder) / 'ledger.db'}",
            "PostgreSQL": postgres,
            "MariaDB": stack.enter_context(mariadb_server(durable=True)),
        }
        for name, url in urls.items():
            prepare(url, vault)
            engine = create_engine(url)
            stack.callback(engine.dispose)
            variants = {UPDATED: many(updates(engine), ALONE), CHARGED: many(charges(engine, vault, 0), ALONE)}
            yield Comparison(f"alone, {name}", variants, operations=ALONE, rounds=11, clock=perf_counter)
        together = {
            UPDATED: stack.enter_context(at_once(lambda _: updates(create_engine(postgres)))),
            CHARGED: stack.enter_context(at_once(lambda number: charges(create_engine(postgres), vault, number))),
        }
        name = f"{PROCESSES} processes, PostgreSQL"
        yield Comparison(name, together, operations=PROCESSES * EACH, rounds=11, clock=perf_counter)


def prepare(url: str, vault: OpenedVault) -> None:
    """A ledger with its dataset, and a table of one row."""
    engine = create_engine(url)
    ledger = ledger_on(engine, vault)
    ledger.create_schema()
    ledger.declare("people", BUDGETS)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE bare (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)"))
        connection.execute(text("INSERT INTO bare (id, n) VALUES (1, 0)"))
    engine.dispose()


def ledger_on(engine: Engine, vault: OpenedVault) -> Ledger:
    keyring = vault.keyring
    return Ledger(engine, audit=LedgerAuditMacs(keyring), question=question_mac(keyring), sealer=LedgerSealer(keyring))


def updates(engine: Engine) -> Callable[[], object]:
    statement = text("UPDATE bare SET n = n + 1 WHERE id = 1")

    def update() -> None:
        with engine.begin() as connection:
            connection.execute(statement)

    return update


def charges(engine: Engine, vault: OpenedVault, number: int) -> Callable[[], object]:
    """Each of a question that was not asked before."""
    ledger, price, who = ledger_on(engine, vault), Price.pure(1), f"analyst {number}"
    return lambda: ledger.charge(Request("people", 1, who, uuid.uuid4().hex, price, columns=("age",)))


def many(once: Callable[[], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            once()

    return run


@contextmanager
def at_once(made: Callable[[int], Callable[[], object]]) -> Iterator[Callable[[], None]]:
    """Processes that each do, whenever it is called, EACH times what is made for their number."""
    begin, end = (FORKS.Barrier(PROCESSES + 1, timeout=TIMEOUT) for _ in range(2))

    def work(number: int) -> None:
        run = many(made(number), EACH)
        while True:
            begin.wait()
            run()
            end.wait()

    processes = [FORKS.Process(target=work, args=(number,), daemon=True) for number in range(PROCESSES)]
    for process in processes:
        process.start()

    def run_all() -> None:
        begin.wait()
        end.wait()

    try:
        yield run_all
    finally:
        for process in processes:
            process.kill()
            process.join()
