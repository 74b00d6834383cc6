"""Processes that charge one ledger at the same time, or are killed while they do. Run by forkserver."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import create_engine, event

from dp.ask import ask
from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import BudgetExhaustedError
from dp.ledger.ledger import Ledger
from dp.questions.count import Count
from tests.dp.ledger.sealing import AesSealer, a_request, ledger_on
from tests.forkserver import PROCESSES

TIMEOUT = 60.0


def together(work: Callable[..., list[Any]], each: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """What `work(barrier, *arguments)` gives in one process for each of the arguments, all started at once."""
    arguments = list(each)
    barrier = PROCESSES.Barrier(len(arguments), timeout=TIMEOUT)
    pipes = [PROCESSES.Pipe(duplex=False) for _ in arguments]
    processes = [
        PROCESSES.Process(target=_report, args=(pipe, work, barrier, *own), daemon=True)
        for (_, pipe), own in zip(pipes, arguments, strict=True)
    ]
    for process in processes:
        process.start()
    results = []
    for reader, _ in pipes:
        assert reader.poll(TIMEOUT * 2), "a process gave no result"
        results.append(reader.recv())
    for process in processes:
        process.join(TIMEOUT)
        assert process.exitcode == 0
    return results


def _report(pipe: Connection, work: Callable[..., list[Any]], *arguments: Any) -> None:
    try:
        pipe.send(work(*arguments))
    except Exception as error:
        pipe.send([repr(error)])
        raise


def charge_rounds(
    barrier: Any, url: str, name: str, nano: int, rounds: int, isolation: str | None = None
) -> list[bool]:
    """Charge "round 0", "round 1", ... once each; every process waits before the check for the others."""
    engine = create_engine(url) if isolation is None else create_engine(url, isolation_level=isolation)

    def draw(size: int) -> bytes:
        barrier.wait()
        return os.urandom(size)

    ledger = ledger_on(engine, draw=draw)
    won = [
        charged(ledger, nano, f"question of {name}", dataset=f"round {number}", principal=name)
        for number in range(rounds)
    ]
    engine.dispose()
    return won


def charge_two_datasets(barrier: Any, url: str, number: int, nano: int, rounds: int) -> list[bool]:
    """As charge_rounds(), but half of the processes charge one dataset of the round and half the other."""
    engine = create_engine(url)

    def draw(size: int) -> bytes:
        barrier.wait()
        return os.urandom(size)

    ledger, half, who = ledger_on(engine, draw=draw), "ab"[number % 2], f"analyst {number}"
    won = [
        charged(ledger, nano, "one", dataset=f"round {round_} {half}", principal=who, columns=("age",))
        for round_ in range(rounds)
    ]
    engine.dispose()
    return won


def charged(ledger: Ledger, nano: int, text: str, **others: Any) -> bool:
    """Whether the question fitted."""
    try:
        ledger.charge(a_request(nano, text, **others))
    except BudgetExhaustedError:
        return False
    return True


def first_ever_charge(barrier: Any, url: str, name: str, nano: int) -> list[bool]:
    """Create the tables, declare the dataset and charge it, when nobody has before."""
    engine = create_engine(url)
    ledger = ledger_on(engine)
    barrier.wait()
    ledger.create_schema()
    ledger.declare("people", 10**9)
    ledger.charge(a_request(nano, f"question of {name}", principal=name))
    engine.dispose()
    return [True]


def three_units() -> list[Chunk]:
    return [
        Chunk(np.arange(3, dtype=np.int64), np.zeros(3, dtype=np.int32), np.arange(3, dtype=np.uint64)),
    ]


# Every point between two steps of charge, answer and store; "in" is before the commit of a transaction.
STEPS = ("begun", "in the charge", "charged", "read", "computed", "in the store", "stored")


def ask_and_hang(url: str, pipe: Connection, where: str, request_id: str | None) -> None:
    """Ask one question, and stop where the parent will kill this process."""

    def hang(here: str) -> None:
        if where == here:
            pipe.send(where)
            threading.Event().wait()

    def read() -> Iterator[Chunk]:
        hang("charged")
        yield from three_units()
        hang("read")

    class HangingSealer(AesSealer):
        def seal(self, plaintext: bytes, aad: bytes) -> bytes:
            hang("computed" if b"stored answer" in aad else "begun")
            return super().seal(plaintext, aad)

        def open(self, sealed: bytes, aad: bytes) -> bytes:
            hang("stored")  # by which the answer that stands is read back, before it is given
            return super().open(sealed, aad)

    engine = create_engine(url)

    def committing(connection: SqlConnection) -> None:
        written = connection.info.pop("written", "")
        hang({"noisevault_charge": "in the charge", "noisevault_answer": "in the store"}.get(written, ""))

    def executed(connection: SqlConnection, _cursor: Any, statement: str, *_: Any) -> None:
        for table in ("noisevault_charge", "noisevault_answer"):
            if f"INSERT INTO {table} " in statement:  # on PostgreSQL as a part of one with all writes
                connection.info["written"] = table

    event.listen(engine, "after_cursor_execute", executed)
    event.listen(engine, "commit", committing)
    ledger = ledger_on(engine, sealer=HangingSealer())
    asked = a_request(request_id=request_id)
    pipe.send(ask(ledger, asked, Count(Caps(1)), read, salt=b"salt"))


def killed_while(url: str, where: str, request_id: str | None = None) -> list[Any]:
    """kill -9 a process at that point of its question; what it had shown by then."""
    reader, writer = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=ask_and_hang, args=(url, writer, where, request_id), daemon=True)
    process.start()
    writer.close()
    assert reader.poll(TIMEOUT)
    assert reader.recv() == where
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(TIMEOUT)
    assert process.exitcode == -signal.SIGKILL
    shown = []
    try:
        while reader.poll(0):
            shown.append(reader.recv())
    except EOFError:
        pass
    time.sleep(0.1)  # a server needs a moment to see that its client is gone
    return shown


def a_ledger(url: str) -> Ledger:
    return ledger_on(create_engine(url))
