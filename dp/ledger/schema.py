"""Tables of the ledger: budgets, charges, answers, the audit log and its head.

All in one database, which on SQLite is a file of its own. Counters are 63-bit integers: epsilon and rho in 1e-9,
delta in 1e-18. MACs and ids are lower-case hexadecimal. Question text and answers are there only sealed.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint
from sqlalchemy.dialects import mysql

LEDGER_COMPONENT: Final = "dp"
LEDGER_VERSION: Final = 2
NAME_CHARACTERS: Final = 190  # ours: four names and a MAC fit into MariaDB's longest index

# Arguments of a Table: a MariaDB server's default engine may know no transactions.
TRANSACTIONAL: Final[dict[str, Any]] = {"mysql_engine": "InnoDB", "mariadb_engine": "InnoDB"}

metadata = MetaData()


def _exact(length: int) -> String:
    """Text compared byte by byte: names that differ in case are two names on every server."""
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
    )


def _sealed() -> LargeBinary:
    return LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def _since_2(name: str) -> Column[int]:
    """A counter that tables of version 1 had not; they are given it with its default."""
    return Column(name, BigInteger, nullable=False, server_default="0")


schema = Table(
    "noisevault_schema",
    metadata,
    Column("component", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
    **TRANSACTIONAL,
)

budget = Table(
    "noisevault_budget",
    metadata,
    Column("dataset", _exact(NAME_CHARACTERS), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("lifetime_nano_epsilon", BigInteger, nullable=False),
    Column("lifetime_atto_delta", BigInteger, nullable=False),
    # Of the lifetime's delta what the questions' may add up to, and the sum of rho that the rest allows.
    _since_2("question_atto_delta"),
    _since_2("lifetime_nano_rho"),
    Column("spent_nano_epsilon", BigInteger, nullable=False),
    Column("spent_nano_rho", BigInteger, nullable=False),
    Column("spent_atto_delta", BigInteger, nullable=False),
    _since_2("spent_unbounded"),
    **TRANSACTIONAL,
)


def _place() -> list[Column[object]]:
    return [
        Column("visibility", _exact(NAME_CHARACTERS + 10), nullable=False),
        Column("dataset", _exact(NAME_CHARACTERS), nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("question_mac", _exact(64), nullable=False),
    ]


charge = Table(
    "noisevault_charge",
    metadata,
    Column("charge_id", _exact(32), primary_key=True),
    *_place(),
    Column("attempt", Integer, nullable=False),
    Column("principal", _exact(NAME_CHARACTERS), nullable=False),
    Column("request_id", _exact(64), nullable=True),
    Column("nano_epsilon", BigInteger, nullable=False),
    Column("nano_rho", BigInteger, nullable=False),
    Column("atto_delta", BigInteger, nullable=False),
    # 1 where no epsilon bounds what the answer costs; nano_epsilon is 0 there.
    _since_2("unbounded"),
    Column("sealed_question", _sealed(), nullable=False),
    Column("audit_sequence", BigInteger, nullable=False, unique=True),
    UniqueConstraint("visibility", "dataset", "epoch", "question_mac", "attempt", name="noisevault_charge_attempt"),
    UniqueConstraint("principal", "request_id", name="noisevault_charge_request"),
    **TRANSACTIONAL,
)

answer = Table(
    "noisevault_answer",
    metadata,
    *_place(),
    Column("attempt", Integer, nullable=False),
    Column("charge_id", _exact(32), nullable=False, unique=True),
    Column("sealed_answer", _sealed(), nullable=False),
    Column("audit_sequence", BigInteger, nullable=False, unique=True),
    UniqueConstraint("visibility", "dataset", "epoch", "question_mac", name="noisevault_answer_first"),
    **TRANSACTIONAL,
)

audit = Table(
    "noisevault_audit",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
    Column("key_id", _exact(64), nullable=False),
    Column("mac", _exact(64), nullable=False),
    **TRANSACTIONAL,
)

audit_head = Table(
    "noisevault_audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("mac", _exact(64), nullable=False),
    **TRANSACTIONAL,
)
