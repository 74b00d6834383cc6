"""Tables of earlier versions, as their releases made and filled them, and what becomes of them."""

import pytest
from sqlalchemy import BigInteger, Column, Connection, Engine, MetaData, Table, insert, select, update

from dp.errors import BudgetExhaustedError, SchemaVersionError
from dp.ledger.answers import digest
from dp.ledger.log.audit import HEAD_ID, NO_MAC, AuditLog
from dp.ledger.store import upgrade
from dp.ledger.store.schema import LEDGER_VERSION, audit_head, charge, metadata, schema
from dp.ledger.store.transaction import Transactions
from dp.price import Price
from tests.dp.ledger.sealing import AuditKeys, a_request, ledger_on

pytestmark = pytest.mark.usefixtures("without_tables")

PLACE = {"visibility": "principal:ann", "dataset": "people", "epoch": 1, "question_mac": "ab" * 32}
COST = {"nano_epsilon": 4 * 10**8, "nano_rho": 8 * 10**7, "atto_delta": 3}


NEW_IN_3 = {"shared_lifetime", "shared_member", "scope", "scope_bucket", "scope_member", "request", "event"}


def tables_of(version: int) -> MetaData:
    """As the release of that version made them."""
    older = MetaData()
    since = [added for earlier, added in upgrade.ADDED.items() if earlier >= version]
    later = {(table.name, column.name) for added in since for table, column in added}
    for table in metadata.sorted_tables:
        if table.name.removeprefix("noisevault_") in NEW_IN_3:
            continue
        columns = [
            Column(c.name, c.type, primary_key=c.primary_key, nullable=c.nullable, unique=c.unique, autoincrement=False)
            for c in table.c
            if (table.name, c.name) not in later
        ]
        Table(table.name, older, *columns, mysql_engine="InnoDB", mariadb_engine="InnoDB")
    return older


@pytest.fixture
def version_1(engine: Engine) -> Engine:
    """A lifetime of epsilon 1 and a delta of 8e-18, of which one charge has had 0.4 and 3e-18."""
    older = tables_of(1)
    older.create_all(engine)
    log = AuditLog(AuditKeys(), lambda: 0)

    def fill(connection: Connection, unsure: bool) -> None:
        connection.execute(insert(schema).values(component="dp", version=1))
        connection.execute(insert(audit_head).values(id=HEAD_ID, sequence=0, mac=NO_MAC))
        limits = {"lifetime_nano_epsilon": 10**9, "lifetime_atto_delta": 8}
        head = log.append(connection, log.lock(connection), "policy", dataset="people", **limits)
        spent = {f"spent_{unit}": amount for unit, amount in COST.items()}
        connection.execute(
            older.tables["noisevault_budget"].insert(), {"dataset": "people", "epoch": 1, **limits, **spent}
        )
        charged = {**PLACE, **COST, "attempt": 1, "principal": "ann"}
        log.append(connection, head, "charge", **charged, charge="cd" * 16, sealed_sha256=digest(b"sealed"))
        row = {**charged, "charge_id": "cd" * 16, "sealed_question": b"sealed", "audit_sequence": 2}
        connection.execute(older.tables["noisevault_charge"].insert(), row)

    Transactions(engine).run(fill)
    return engine


def test_until_then_the_error_says_how_to_bring_them_there(version_1: Engine) -> None:
    with pytest.raises(SchemaVersionError, match=r"those here are of version 1: stop what .* \(noisevault init\)"):
        ledger_on(version_1).status("people")


def test_what_was_spent_and_promised_stays(version_1: Engine) -> None:
    ledger = ledger_on(version_1)
    ledger.create_schema()
    ledger.create_schema()
    status = ledger.status("people")
    assert (status.spent, status.spent_nano_rho, status.spent_atto_delta, status.spent_unbounded) == (*COST.values(), 0)
    assert (status.lifetime, status.lifetime_nano_rho) == (10**9, 0)
    assert (status.lifetime_atto_delta, status.question_atto_delta) == (8, 8)
    assert ledger.verify_audit().charges == 1


def test_the_sums_of_rho_go_on_from_the_first_charge(version_1: Engine) -> None:
    ledger = ledger_on(version_1)
    ledger.create_schema()
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(price=Price.gaussian(1)))  # no sum of rho was declared yet
    assert ledger.declare("people", 10**10, lifetime_atto_delta=2 * 10**12, reason="a test", accept=True)
    rho = ledger.status("people").lifetime_nano_rho
    with pytest.raises(BudgetExhaustedError):
        ledger.charge(a_request(price=Price.gaussian(rho - COST["nano_rho"] + 1)))
    ledger.charge(a_request(price=Price.gaussian(rho - COST["nano_rho"])))
    ledger.verify_audit()


@pytest.fixture
def version_2(engine: Engine) -> Engine:
    """Two charges of 0.25, one answered and one of which the log says that it is not released."""
    older = tables_of(2)
    older.create_all(engine)
    log = AuditLog(AuditKeys(), iter(range(10, 90, 10)).__next__)
    limits = dict.fromkeys(("lifetime_atto_delta", "question_atto_delta", "lifetime_nano_rho"), 0)
    limits["lifetime_nano_epsilon"] = 10**9
    cost = {"nano_epsilon": 25 * 10**7, "nano_rho": 1, "atto_delta": 0, "unbounded": 0}

    def fill(connection: Connection, unsure: bool) -> None:
        connection.execute(insert(schema).values(component="dp", version=2))
        connection.execute(insert(audit_head).values(id=HEAD_ID, sequence=0, mac=NO_MAC))
        head = log.append(connection, log.lock(connection), "policy", dataset="people", **limits)
        for number in (1, 2):
            charged = {**PLACE, **cost, "attempt": number, "principal": "ann"}
            charge_id = f"{number:032x}"
            head = log.append(connection, head, "charge", **charged, charge=charge_id, sealed_sha256=digest(b"sealed"))
            row = {**charged, "charge_id": charge_id, "sealed_question": b"sealed", "audit_sequence": head.sequence}
            connection.execute(older.tables["noisevault_charge"].insert(), row)
        told = {**PLACE, "attempt": 1, "charge": f"{1:032x}", "principal": "ann", "cause": "ValueError"}
        head = log.append(connection, head, "unreleased", **told)
        answered = {**PLACE, "attempt": 2, "charge": f"{2:032x}", "principal": "ann"}
        head = log.append(connection, head, "answer", **answered, sealed_sha256=digest(b"answer"))
        answer = {**PLACE, "attempt": 2, "charge_id": f"{2:032x}", "sealed_answer": b"answer"}
        connection.execute(older.tables["noisevault_answer"].insert(), {**answer, "audit_sequence": head.sequence})
        spent = {f"spent_{unit}": 2 * amount for unit, amount in cost.items()}
        connection.execute(
            older.tables["noisevault_budget"].insert(), {"dataset": "people", "epoch": 1, **limits, **spent}
        )

    Transactions(engine).run(fill)
    return engine


def test_a_charge_without_an_answer_is_known_as_one_afterwards(version_2: Engine) -> None:
    with pytest.raises(SchemaVersionError, match="those here are of version 2"):
        ledger_on(version_2).status("people")
    ledger = ledger_on(version_2)
    ledger.create_schema()
    ledger.create_schema()
    with version_2.connect() as connection:
        known = connection.execute(select(charge.c.unreleased_sequence, charge.c.charged_at).order_by(charge.c.attempt))
        assert [tuple(row) for row in known] == [(4, 20), (None, 30)]
    assert ledger.status("people").spent == 5 * 10**8
    report = ledger.verify_audit()
    assert (report.charges, report.answers) == (2, 1)


@pytest.mark.parametrize("done", range(5))
def test_an_upgrade_that_was_cut_off_goes_on(version_1: Engine, done: int) -> None:
    with version_1.begin() as connection:
        whole = upgrade.ADDED[1]
        for table, column in whole[:done]:
            assert isinstance(column.type, BigInteger)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column.name} BIGINT DEFAULT 0 NOT NULL")
    ledger = ledger_on(version_1)
    ledger.create_schema()
    assert ledger.status("people").question_atto_delta == 8
    ledger.verify_audit()


def test_who_comes_second_changes_no_lifetime_that_was_declared_since(version_1: Engine) -> None:
    ledger = ledger_on(version_1)
    ledger.create_schema()
    ledger.declare("people", 10**9, lifetime_atto_delta=6, reason="a test", accept=True)
    Transactions(version_1).run(lambda connection, _: upgrade.upgrade_from(1, connection))
    assert ledger.status("people").question_atto_delta == 3
    with version_1.begin() as connection:
        connection.execute(update(schema).where(schema.c.component == "dp").values(version=LEDGER_VERSION))
