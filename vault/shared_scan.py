"""Shared scan: the rows of a question are read by workers, each a range of keys, and what they return is sealed.

A worker opens the keyring itself. What it returns is sealed under a key that both derive for this one scan, so that
neither the pickles nor a scheduler show of whom it is or what counts. No key travels, and no value in the clear.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Engine, Table, func, select

from kms import framed
from vault.errors import JobError, PolicyError
from vault.jobs.walking.key_range import WHOLE, KeyRange
from vault.jobs.walking.key_text import read_key, write_key
from vault.jobs.walking.stored_key import job_table
from vault.jobs.workers.handing_out import handed_out
from vault.jobs.workers.kept_open import KeptOpen, sessions
from vault.jobs.workers.splitting import split
from vault.jobs.workers.worker_process import working
from vault.jobs.workers.workers import Workers
from vault.ledger_keys import LedgerMac, question_mac
from vault.project import Project
from vault.rows.shared_snapshot import shared_snapshot

__all__ = ["OpensProject", "PartToRead", "ReadPart", "ScanReport", "ScanTask", "SharedScan", "scan_part"]

SP_800_38D_IV_BYTES: Final = 12
TOKEN_BYTES: Final = 16
# Ours: ranges for each worker; rows below which a range is not worth it, and above which its result is too large.
PARTS_A_WORKER: Final = 4
LEAST_ROWS: Final = 20_000
MOST_ROWS: Final = 500_000


class OpensProject(Protocol):
    """A frozen value that pickles, such as vault.cli.recipes.CommandPlace."""

    def project(self, kept: KeptOpen) -> Project: ...


@dataclass(frozen=True, slots=True)
class PartToRead:
    """meaning: what the answer hangs on, as whoever asks reads it. live: ids of the keys that open.

    after, up_to: primary keys as JSON. reads: whether rows are asked for at all. snapshot: as shared_snapshot() gives.
    """

    dataset: str
    question: str
    meaning: str
    live: frozenset[bytes]
    reads: bool = False
    after: str | None = None
    up_to: str | None = None
    snapshot: str = ""

    @property
    def key_range(self) -> KeyRange | None:
        """None where no rows are asked for."""
        ends = (None if text is None else read_key(text) for text in (self.after, self.up_to))
        return KeyRange(*ends) if self.reads else None


ReadPart = Callable[[Project, PartToRead], bytes]
"""A function of a module, which pickles by its name."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """token: of the scan, from which the key of its results is derived, together with a key that does not travel."""

    session: str
    place: OpensProject
    read: ReadPart
    part: PartToRead
    token: bytes


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport:
    """sealed: nonce, ciphertext and tag. failure: the kind of what went wrong, never its text."""

    sealed: bytes = b""
    failure: str = ""


def scan_part(task: ScanTask) -> ScanReport:
    """In a worker. It raises nothing: an exception is pickled with what it holds."""
    try:
        with working(), sessions().using(task.session) as kept:
            project = task.place.project(kept)
            told = task.read(project, task.part)
            nonce = os.urandom(SP_800_38D_IV_BYTES)
            cipher = _cipher(question_mac(project.opened.keyring), task.token)
            return ScanReport(nonce + cipher.encrypt(nonce, told, _place(task.part)))
    except Exception as error:  # noqa: BLE001  # what kind it is may depend on the data; its text may hold some
        return ScanReport(failure=type(error).__name__)


@dataclass(frozen=True, slots=True)
class SharedScan:
    """workers: who reads. place: what each of them opens."""

    workers: Workers
    place: OpensProject
    least_rows: int = LEAST_ROWS
    token: bytes = field(default_factory=lambda: secrets.token_bytes(TOKEN_BYTES))

    def require_alike(self, read: ReadPart, part: PartToRead) -> None:
        """That workers can open what they need, and read the same in the policy; found out without reading a row.

        Raises: PolicyError.
        """
        tasks = [self._task(read, part)] * self.workers.count
        for _, report in handed_out(self.workers, scan_part, tasks):
            if report.failure:
                raise PolicyError(
                    f"a worker cannot read the rows ({report.failure}): see that it has the policy, the models, the"
                    " credentials and the network that this process has (docs/workers.md)"
                )

    def read(self, read: ReadPart, part: PartToRead, engine: Engine, table: Table, mac: LedgerMac) -> Iterator[bytes]:
        """What each worker returns, as it comes. mac: as question_mac(). Raises: JobError."""
        cipher = _cipher(mac, self.token)
        with shared_snapshot(engine) as snapshot:
            tasks = [self._task(read, one) for one in self._parts(replace(part, snapshot=snapshot), engine, table)]
            for task, report in handed_out(self.workers, scan_part, tasks):
                if report.failure:
                    raise JobError(f"a worker could not read its range of keys ({report.failure})")
                nonce, body = report.sealed[:SP_800_38D_IV_BYTES], report.sealed[SP_800_38D_IV_BYTES:]
                yield _opened(cipher, nonce, body, _place(task.part))

    def _parts(self, part: PartToRead, engine: Engine, table: Table) -> list[PartToRead]:
        walked = job_table(table)
        with engine.connect() as connection:
            rows = connection.scalar(select(func.count()).select_from(walked)) or 0
        wanted = max(1, min(self.workers.count * PARTS_A_WORKER, rows // self.least_rows), rows // MOST_ROWS)
        found = []
        for one in split(engine, walked, WHOLE, rows, wanted):
            after, up_to = (None if key is None else write_key(key) for key in (one.after, one.up_to))
            found.append(replace(part, reads=True, after=after, up_to=up_to))
        return found

    def _task(self, read: ReadPart, part: PartToRead) -> ScanTask:
        return ScanTask(self.workers.session, self.place, read, part, self.token)


def _cipher(mac: LedgerMac, token: bytes) -> AESGCM:
    """A key of this scan alone: a result of another one does not open."""
    return AESGCM(mac.compute(framed(b"noisevault/1 shared scan", token)))


def _place(part: PartToRead) -> bytes:
    """A result of another range, or of another question, does not open either."""
    ends = [repr(end).encode() for end in (part.after, part.up_to)]
    return framed(part.dataset.encode(), part.question.encode(), part.meaning.encode(), *ends)


def _opened(cipher: AESGCM, nonce: bytes, body: bytes, place: bytes) -> bytes:
    try:
        return cipher.decrypt(nonce, body, place)
    except (InvalidTag, ValueError):
        pass
    raise JobError("what a worker returned was changed on its way, or is of another range of keys")
