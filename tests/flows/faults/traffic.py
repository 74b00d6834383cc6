"""Traffic: services in other processes that insert, update, delete, read and look up, and know what they committed.

Each thread has rows of its own, so that it knows what each must hold: what it committed last, or, where it was cut off
in a commit, one of two. Rows with the numbers of QUIET nobody writes: all may look at them.
"""

import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, Table, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from kms import KmsError
from tests.flows.faults.visits import PROCESSES, Place, State, first_state, national_id, row
from tests.sizes import sized

QUIET: Final = 10
ACTS: Final = ("change", "change", "rename", "insert", "delete", "two", "read", "find", "quiet")
WITHIN_SECONDS: Final = sized(120, 1800)


@dataclass(frozen=True)
class Service:
    """persons: those that there are. threads: of this process, among `of` in all, from number `first` on."""

    place: Place
    persons: int
    first: int
    threads: int
    of: int
    rest: float
    until: Path
    report: Path
    seed: int


@dataclass
class _Thread:
    """One client of the service."""

    service: Service
    number: int
    engine: Engine
    table: Table
    allowed: dict[int, list[State | None]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    order: list[int] = field(default_factory=list)

    def run(self) -> None:
        service = self.service
        own = range(self.number, service.persons, service.of)
        self.allowed = {person: [first_state(person)] for person in own if person % QUIET}
        self.order = list(self.allowed)
        chance, count = random.Random(service.seed + self.number), 0
        quiet = range(0, service.persons, QUIET)
        while not service.until.exists():
            count += 1
            person = chance.choice(self._some(chance))
            act = ACTS[count - 1] if count <= len(ACTS) else chance.choice(ACTS)  # each at least once
            began = time.monotonic()
            try:
                getattr(self, f"_{act}")(chance.choice(quiet) if act == "quiet" else person, count, chance)
                self.done[act] += 1
            except (SQLAlchemyError, KmsError) as error:
                orig = getattr(error, "orig", None)
                self.errors[f"{type(error).__name__} {type(orig).__name__ if orig else error}"] += 1
                time.sleep(0.05)
            self.slowest = max(self.slowest, time.monotonic() - began)
            if self.wrong:
                service.report.with_suffix(".wrong").touch()
            time.sleep(service.rest)

    def _some(self, chance: random.Random) -> Sequence[int]:
        """A few, that are written again and again."""
        start = chance.randrange(len(self.order))
        return self.order[start : start + 5]

    def _write(self, states: dict[int, State | None], *statements: Any) -> None:
        """All or none; until it is known to be committed, either may be so."""
        before = {person: self.allowed.get(person, [None]) for person in states}
        for person, state in states.items():
            self.allowed[person] = [*before[person], state]
        committing = False
        try:
            with self.engine.connect() as connection, connection.begin():
                for statement in statements:
                    self._expect(states, before, connection.execute(statement).rowcount)
                committing = True
        except _GoneError:
            return
        except BaseException:
            if not committing:
                self.allowed |= before  # nothing of it was committed
            raise
        for person, state in states.items():
            self.allowed[person] = [state]

    def _expect(self, states: dict[int, Any], before: dict[int, list[State | None]], rows: int) -> None:
        if rows == 1:
            return
        (person, *others) = states
        if not others and None in before[person]:
            self.allowed[person] = [None]
        else:
            self.wrong.append(f"{rows} rows of {states}")
            self.allowed |= before
        raise _GoneError

    def _now(self, person: int) -> State | None:
        return self.allowed[person][-1]

    def _is(self, person: int) -> Any:
        return (self.table.c.person == person) & (self.table.c.year == 1)

    def _change(self, person: int, count: int, _chance: random.Random) -> None:
        now = self._now(person)
        numbers = {state[0] for state in self.allowed[person] if state is not None}
        if now is not None and len(numbers) == 1:  # else nobody knows which one stays
            state = now[0], f"changed {count}"
            self._write({person: state}, update(self.table).where(self._is(person)).values(diagnosis=state[1]))

    def _rename(self, person: int, count: int, _chance: random.Random) -> None:
        if self._now(person) is not None:
            state = national_id(person, count), f"renamed {count}"
            values = {"national_id": state[0], "diagnosis": state[1]}
            self._write({person: state}, update(self.table).where(self._is(person)).values(values))

    def _two(self, person: int, count: int, _chance: random.Random) -> None:
        """Two rows, the later one first."""
        other = min(self.allowed)
        now, others = self._now(person), self._now(other)
        known = len(self.allowed[person]) == len(self.allowed[other]) == 1
        if known and person != other and now is not None and others is not None:
            states = {person: (now[0], f"two {count}"), other: (others[0], f"two {count}")}
            changes = [
                update(self.table).where(self._is(one)).values(diagnosis=states[one][1]) for one in (person, other)
            ]
            self._write(dict(states), *changes)

    def _insert(self, _person: int, count: int, chance: random.Random) -> None:
        """Before all rows, or behind."""
        new = (10_000_000 * (self.number + 1) + count) * chance.choice([1, -1])
        state = national_id(abs(new) * 2 + (new < 0), 0), f"inserted {count}"
        self._write({new: state}, insert(self.table).values(row(new, state)))
        self.order.append(new)

    def _delete(self, person: int, _count: int, _chance: random.Random) -> None:
        if self._now(person) is not None and len(self.allowed) > 20:
            self._write({person: None}, delete(self.table).where(self._is(person)))

    def _read(self, person: int, _count: int, _chance: random.Random) -> None:
        asked = select(self.table.c.national_id, self.table.c.diagnosis).where(self._is(person))
        with self.engine.connect() as connection:
            found = connection.execute(asked).first()
        if (None if found is None else tuple(found)) not in self.allowed[person]:
            self.wrong.append(f"read {found} of {person}, wanted {self.allowed[person]}")

    def _find(self, person: int, _count: int, _chance: random.Random) -> None:
        for state in self.allowed[person] if len(self.allowed[person]) == 1 else ():
            if state is not None:
                self._find_by(state[0], person)

    def _quiet(self, person: int, _count: int, _chance: random.Random) -> None:
        asked = select(self.table.c.national_id, self.table.c.diagnosis).where(self._is(person))
        with self.engine.connect() as connection:
            found = connection.execute(asked).first()
        if found is None or tuple(found) != first_state(person):
            self.wrong.append(f"read {found} of {person}, which nobody writes")
        self._find_by(national_id(person), person)

    def _find_by(self, number: str, person: int) -> None:
        with self.engine.connect() as connection:
            found = connection.scalars(select(self.table.c.person).where(self.table.c.national_id == number)).all()
        if found != [person]:
            self.wrong.append(f"found {found} by the number of {person}")


class _GoneError(Exception):
    """The row of a write was not there."""


def _serve(service: Service) -> None:
    """In the other process."""
    with service.place.opened() as (engine, table, _vault):
        clients = [
            _Thread(service, number, engine, table) for number in range(service.first, service.first + service.threads)
        ]
        threads = [threading.Thread(target=client.run) for client in clients]
        service.report.with_suffix(".began").touch()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report = [
            {
                "allowed": list(client.allowed.items()),
                "errors": client.errors,
                "wrong": client.wrong,
                "done": client.done,
            }
            | {"slowest": client.slowest}
            for client in clients
        ]
        service.report.write_text(json.dumps(report))


@dataclass
class Traffic:
    """errors, wrong, done: of all clients, when it has ended. allowed: what each row may hold. slowest: seconds."""

    persons: int
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    allowed: dict[int, Sequence[Any]] = field(default_factory=dict)
    slowest: float = 0.0

    def read(self, reports: Sequence[Path]) -> None:
        wanted: dict[int, Sequence[Any]] = defaultdict(list)
        wanted |= {person: [first_state(person)] for person in range(0, self.persons, QUIET)}
        for one in (client for report in reports for client in json.loads(report.read_text())):
            wanted |= {person: [s if s is None else tuple(s) for s in states] for person, states in one["allowed"]}
            self.errors.update(one["errors"])
            self.done.update(one["done"])
            self.wrong += one["wrong"]
            self.slowest = max(self.slowest, one["slowest"])
        self.allowed = dict(wanted)


@contextmanager
def traffic(place: Place, persons: int, processes: int = 2, threads: int = 2, rest: float = 0.002) -> Iterator[Traffic]:
    """Goes on within `with`, from when all clients are there; afterwards it says what happened."""
    tag = time.monotonic_ns()
    until = place.folder / f"{tag}.until"
    of = processes * threads
    reports = [place.folder / f"{tag}-{number}.report" for number in range(processes)]
    services = [
        Service(place, persons, number * threads, threads, of, rest, until, report, tag)
        for number, report in enumerate(reports)
    ]
    told = Traffic(persons)
    running = [PROCESSES.Process(target=_serve, args=(service,), daemon=True) for service in services]
    try:
        for process in running:
            process.start()
        end = time.monotonic() + WITHIN_SECONDS
        while not all(report.with_suffix(".began").exists() for report in reports):
            assert time.monotonic() < end
            assert all(process.is_alive() for process in running)
            time.sleep(0.01)
        yield told
        until.touch()
        for process in running:
            process.join(WITHIN_SECONDS)
            assert process.exitcode == 0
        told.read(reports)
    finally:
        for process in running:
            process.kill()
            process.join()
