"""Tables of the ledger: budgets and their scopes, charges, requests, answers, the audit log and its head.

All in one database, which on SQLite is a file of its own. Counters are 63-bit integers: epsilon and rho in 1e-9,
delta in 1e-18. MACs and ids are lower-case hexadecimal. Question text and answers are there only sealed.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint
from sqlalchemy.dialects import mysql

LEDGER_COMPONENT: Final = "dp"
LEDGER_VERSION: Final = 3
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


def _later(name: str) -> Column[int]:
    """A number that tables of an earlier version had not; they are given it with its default."""
    return Column(name, BigInteger, nullable=False, server_default="0")


schema = Table(
    "noisevault_schema",
    metadata,
    Column("component", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
    **TRANSACTIONAL,
)


def _lifetime() -> list[Column[int]]:
    """What may be spent for ever, and what is."""
    return [
        Column("lifetime_nano_epsilon", BigInteger, nullable=False),
        Column("lifetime_atto_delta", BigInteger, nullable=False),
        # Of the lifetime's delta what the questions' may add up to, and the sum of rho that the rest allows.
        _later("question_atto_delta"),
        _later("lifetime_nano_rho"),
        Column("spent_nano_epsilon", BigInteger, nullable=False),
        Column("spent_nano_rho", BigInteger, nullable=False),
        Column("spent_atto_delta", BigInteger, nullable=False),
        _later("spent_unbounded"),
    ]


budget = Table(
    "noisevault_budget",
    metadata,
    Column("dataset", _exact(NAME_CHARACTERS), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    *_lifetime(),
    # A digest of where the rows are; empty where it is not known. Datasets of one source are copies of each other.
    Column("source", _exact(64), nullable=False, server_default=""),
    # Why it has a lifetime of its own nevertheless; empty where it has not.
    Column("separate", _exact(NAME_CHARACTERS), nullable=False, server_default=""),
    # Of one question; 0 for no such limit.
    _later("least_nano_epsilon"),
    _later("most_nano_epsilon"),
    **TRANSACTIONAL,
)

# One lifetime over several datasets that share a unit.
shared_lifetime = Table(
    "noisevault_shared_lifetime",
    metadata,
    Column("name", _exact(NAME_CHARACTERS), primary_key=True),
    *_lifetime(),
    **TRANSACTIONAL,
)

shared_member = Table(
    "noisevault_shared_member",
    metadata,
    Column("name", _exact(NAME_CHARACTERS), primary_key=True),
    Column("dataset", _exact(NAME_CHARACTERS), primary_key=True),
    **TRANSACTIONAL,
)


def _scope() -> list[Column[Any]]:
    """What a budget is of, and over which time.

    kind: dataset, column, analyst or group. subject: the name of the column, analyst or group; empty for the dataset,
    and for what each analyst has who has no row of their own. span: day, week, month, quarter or ever.
    """
    return [
        Column("dataset", _exact(NAME_CHARACTERS), primary_key=True),
        Column("kind", _exact(16), primary_key=True),
        Column("subject", _exact(NAME_CHARACTERS), primary_key=True),
        Column("span", _exact(16), primary_key=True),
    ]


scope = Table(
    "noisevault_scope",
    metadata,
    *_scope(),
    # Null in the row of an analyst who has what each analyst has, and of what is declared no more: it counts on.
    Column("cap_nano_epsilon", BigInteger, nullable=True),
    # The last bucket of time that the sum goes up to, and the sum of the window that ends with it.
    Column("bucket", BigInteger, nullable=False),
    Column("spent_nano_epsilon", BigInteger, nullable=False),
    **TRANSACTIONAL,
)

scope_bucket = Table(
    "noisevault_scope_bucket",
    metadata,
    *_scope(),
    Column("bucket", BigInteger, primary_key=True, autoincrement=False),
    Column("nano_epsilon", BigInteger, nullable=False),
    **TRANSACTIONAL,
)

scope_member = Table(
    "noisevault_scope_member",
    metadata,
    Column("dataset", _exact(NAME_CHARACTERS), primary_key=True),
    Column("subject", _exact(NAME_CHARACTERS), primary_key=True),
    Column("principal", _exact(NAME_CHARACTERS), primary_key=True),
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
    _later("unbounded"),
    Column("sealed_question", _sealed(), nullable=False),
    Column("audit_sequence", BigInteger, nullable=False, unique=True),
    # Microseconds since 1970, UTC.
    _later("charged_at"),
    # Of the entry that says it has no answer, and will have none.
    Column("unreleased_sequence", BigInteger, nullable=True),
    UniqueConstraint("visibility", "dataset", "epoch", "question_mac", "attempt", name="noisevault_charge_attempt"),
    UniqueConstraint("principal", "request_id", name="noisevault_charge_request"),
    **TRANSACTIONAL,
)

# What became of each request that has an id. reason: of a refusal.
request = Table(
    "noisevault_request",
    metadata,
    Column("principal", _exact(NAME_CHARACTERS), primary_key=True),
    Column("request_id", _exact(64), primary_key=True),
    *_place(),
    Column("outcome", _exact(16), nullable=False),
    Column("charge_id", _exact(32), nullable=True),
    Column("reason", _exact(64), nullable=True),
    Column("audit_sequence", BigInteger, nullable=False, unique=True),
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

# What happened elsewhere (to a key, in a job) and is in the log, each once.
event = Table(
    "noisevault_event",
    metadata,
    Column("event_id", _exact(NAME_CHARACTERS), primary_key=True),
    Column("audit_sequence", BigInteger, nullable=False, unique=True),
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
