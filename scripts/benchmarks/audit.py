"""The audit log of 100,000 entries, verified with all that it counts, against reading and hashing its entries alone.

On SQLite, under a real keyring's keys: half of the entries are charges, half are their answers.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, Engine, create_engine, select

from dp.ledger.answers import Claim, store_first
from dp.ledger.charge import Bid, charge_or_serve
from dp.ledger.log.audit import AuditLog
from dp.ledger.place import Place
from dp.ledger.store.schema import audit
from dp.ledger.store.transaction import Transactions
from dp.ledger.verifying.export import verify_export
from dp.price import Price
from dp.request import Request
from scripts.benchmarks.comparison import Comparison
from scripts.benchmarks.fresh_vault import fresh_vault
from scripts.benchmarks.ledger import ledger_on
from vault.ledger_keys import LedgerAuditMacs, question_mac
from vault.opened import OpenedVault

__all__ = ["comparisons"]

ENTRIES = 100_000


def comparisons(entries: int = ENTRIES) -> Iterator[Comparison]:
    with TemporaryDirectory() as folder, closing(fresh_vault(Path(folder))) as vault:
        engine = create_engine(f"sqlite:///{Path(folder) / 'ledger.db'}")
        ledger = ledger_on(engine, vault)
        ledger.create_schema()
        ledger.declare("people", 10**14)
        fill(engine, vault, entries)
        mac, macs = LedgerAuditMacs(vault.keyring).newest(), LedgerAuditMacs(vault.keyring)
        export: list[bytes] = []
        ledger.export_audit(export.append)
        texts = select(audit.c.entry).order_by(audit.c.sequence)
        with engine.connect() as connection:
            in_memory = [text.encode() for text in connection.scalars(texts)]

        def read_and_hash() -> None:
            with engine.connect() as connection:
                for text in connection.scalars(texts, execution_options={"yield_per": 4000}):
                    mac.compute(text.encode())

        def hash_alone() -> None:
            for signed in in_memory:
                mac.compute(signed)

        variants: dict[str, Callable[[], object]] = {
            "read and hashed": read_and_hash,
            "hashed, in memory before": hash_alone,
            "verified": ledger.verify_audit,
            "an export verified": lambda: verify_export(export, macs),
        }
        yield Comparison(f"an entry of {entries:,}", variants, operations=entries, rounds=5, collecting=True)
        engine.dispose()


def fill(engine: Engine, vault: OpenedVault, entries: int) -> None:
    """In one transaction: what a crash would leave of it does not matter here."""
    log, question = AuditLog(LedgerAuditMacs(vault.keyring), lambda: 0), question_mac(vault.keyring)

    def work(connection: Connection, _unsure: bool) -> None:
        for number in range(entries // 2):
            request = Request("people", 1, "ann", f"question {number}", Price.pure(1000))
            bid = Bid(
                os.urandom(16).hex(), Place.of(request, question), request.principal, request.price, os.urandom(90)
            )
            claim = charge_or_serve(connection, log, bid, unsure=False)
            assert isinstance(claim, Claim)  # noqa: S101
            store_first(connection, log, claim, os.urandom(400))

    Transactions(engine).run(work)
