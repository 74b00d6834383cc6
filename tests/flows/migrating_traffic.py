"""Traffic for docs/migrating.md: one process that reads and writes patients, and checks everything that it reads.

A patient's number is "<id>-<version>": whoever reads it knows whose it is, and that versions only grow. Run in the
folder of the page, by the code that is there, with a seed, a file and seconds of rest; it tells when it has begun by a
file too. At SIGTERM it ends and writes what it did.
"""

import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from db import engine  # type: ignore[import-not-found]
from models import Patient  # type: ignore[import-not-found]
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

# Whose number is looked for in the server's files, and so stays as it is.
PLANTED = 7
stopping = False


def stop(*_: Any) -> None:
    global stopping  # noqa: PLW0603  # a signal handler has no other way
    stopping = True


class Traffic:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.made = 0
        self.wrote: Counter[str] = Counter()
        self.seen: dict[int, int] = {}
        self.did: Counter[str] = Counter()

    def go(self) -> None:
        ways = [self.read, self.find, self.write, self.write_by_statement, self.add, self.add_twice, self.absent]
        while not stopping:
            way = self.random.choice(ways)
            way()
            self.did[way.__name__] += 1
            begun.touch()
            time.sleep(rest)

    def some_id(self, session: Session) -> int:
        ids = session.scalars(select(Patient.id).order_by(Patient.id.desc()).limit(400)).all()
        return int(self.random.choice(ids))

    def note(self, key: int, ssn: Any) -> None:
        assert isinstance(ssn, str), f"patient {key} has {type(ssn).__name__}"
        whose, _, version = ssn.removeprefix("PLANTED-").rpartition("-")
        assert whose == str(key), f"patient {key} has another's number"
        assert int(version) >= self.seen.get(key, 0), f"patient {key} has an older number than before"
        self.seen[key] = int(version)

    def read(self) -> None:
        with Session(engine) as session:
            patient = session.get_one(Patient, self.some_id(session))
            self.note(patient.id, patient.ssn)

    def find(self) -> None:
        with Session(engine) as session:
            patient = session.get_one(Patient, self.some_id(session), with_for_update=True)
            self.note(patient.id, patient.ssn)
            found = session.scalars(select(Patient.id).where(Patient.ssn == patient.ssn)).all()
            assert found == [patient.id], f"patient {patient.id} is found as {found}"
            many = session.scalars(select(Patient.id).where(Patient.ssn.in_([patient.ssn, "nobody"]))).all()
            assert many == [patient.id]

    def absent(self) -> None:
        with Session(engine) as session:
            assert session.scalars(select(Patient.id).where(Patient.ssn == "nobody")).all() == []
            assert session.scalars(select(Patient.id).where(Patient.ssn.is_(None))).all() == []

    def write(self) -> None:
        with Session(engine) as session:
            patient = session.get_one(Patient, self.some_id(session), with_for_update=True)
            key = patient.id
            if key == PLANTED:
                return
            patient.ssn = self.next(key, patient.ssn)
            session.commit()
        self.wrote[str(key)] += 1

    def write_by_statement(self) -> None:
        with Session(engine) as session:
            patient = session.get_one(Patient, self.some_id(session), with_for_update=True)
            key = patient.id
            if key == PLANTED:
                return
            number = self.next(key, patient.ssn)
            changed = session.execute(
                update(Patient).where(Patient.ssn == patient.ssn).values(ssn=number),
                execution_options={"synchronize_session": False},
            )
            assert changed.rowcount == 1  # type: ignore[attr-defined]
            session.commit()
        self.wrote[str(key)] += 1

    def next(self, key: int, ssn: str) -> str:
        self.note(key, ssn)
        self.seen[key] += 1
        return f"{key}-{self.seen[key]}"

    def add(self) -> None:
        self.made += 1
        key = self.seed * 100_000 + self.made
        with Session(engine) as session:
            session.execute(insert(Patient), [{"id": key, "name": "new", "ssn": f"{key}-0"}])
            session.commit()
        self.wrote[str(key)] += 0

    def add_twice(self) -> None:
        """Unique throughout: a number that somebody has is refused."""
        with Session(engine) as session:
            patient = session.get_one(Patient, self.some_id(session), with_for_update=True)
            self.made += 1
            session.add(Patient(id=self.seed * 100_000 + self.made, name="twice", ssn=patient.ssn))
            try:
                session.flush()
            except IntegrityError:
                session.rollback()
                return
            raise AssertionError(f"the number of patient {patient.id} was taken twice")


signal.signal(signal.SIGTERM, stop)
begun, rest = Path(sys.argv[2]).with_suffix(".begun"), float(sys.argv[3])
traffic = Traffic(int(sys.argv[1]))
traffic.go()
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump({"wrote": traffic.wrote, "did": traffic.did}, file)
