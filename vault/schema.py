"""Schema: the SQLAlchemy tables that a policy describes, sealed columns as such."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Uuid,
)
from sqlalchemy.dialects.mysql import LONGBLOB, VARBINARY
from sqlalchemy.types import TypeEngine

from kms.exact_text import MARIADB_LONGEST_KEY_BYTES, exact_key_text, exact_long_text
from vault.mapping.compound_index import CompoundIndex
from vault.mapping.sealed_type import Sealed
from vault.normalise import Normaliser
from vault.normalisers import normaliser_named
from vault.normalisers.phone_number import phone
from vault.policy import ColumnPolicy, ColumnType, CompoundPolicy, IndexPolicy, Policy, TablePolicy
from vault.terms.term import BlindIndex


def tables(policy: Policy) -> MetaData:
    """One Table for each table of the policy, in a MetaData of their own; columns in the policy's order.

    Integers have 64 bits and floats are binary64; the database makes up no key.
    """
    metadata = MetaData()
    for name, table in policy.table.items():
        columns = [_column(column, table) for column in table.column]
        Table(name, metadata, *columns, *(_compound(index, one) for index, one in table.index.items()))
    return metadata


def _column(name: str, table: TablePolicy) -> Column[Any]:
    declared = table.column[name]
    kind = _sealed(declared) if declared.sealed else _plain(declared.type, len(table.key) if name in table.key else 0)
    return Column(name, kind, primary_key=name in table.key, autoincrement=False, nullable=table.nullable(name))


def _sealed(declared: ColumnPolicy) -> Sealed[Any]:
    return Sealed(
        _plain(declared.type),
        index=[_index(index) for index in declared.indexes],
        bind=declared.bind,
        migrating=declared.migrating,
        generation=declared.generation,
    )


def _index(index: IndexPolicy) -> BlindIndex:
    return BlindIndex(
        phone(index.region, metadata=index.metadata) if index.normalise == "phone" else _normaliser(index.normalise),
        index.bits,
        index.name,
        scope=index.scope,
        keyring=index.keyring,
        slow=index.slow,
        low_entropy=index.low_entropy,
    )


def _compound(name: str, index: CompoundPolicy) -> CompoundIndex:
    parts = [(column, _normaliser(index.normalise.get(column, "exact"))) for column in index.columns]
    return CompoundIndex(name, *parts, bits=index.bits, unique=index.unique, slow=index.slow)


def _normaliser(name: str) -> Normaliser:
    """The first version of each is meant; a policy that wants another will have to say so."""
    return normaliser_named(f"{'last4' if name == 'last_four' else name}/1")


def _plain(kind: ColumnType, key_columns: int = 0) -> TypeEngine[Any]:  # noqa: PLR0911  # one line a type
    """key_columns: of how many columns the primary key is that this one belongs to; 0 if it belongs to none."""
    match kind:
        case "int":
            return BigInteger()
        case "float":
            return Double()
        case "str":
            return exact_key_text(key_columns) if key_columns else exact_long_text()
        case "bytes":
            stored = VARBINARY(MARIADB_LONGEST_KEY_BYTES // key_columns) if key_columns else LONGBLOB()
            return LargeBinary().with_variant(stored, "mysql", "mariadb")
        case "bool":
            return Boolean()
        case "decimal":
            return Numeric()
        case "date":
            return Date()
        case "datetime":
            return DateTime(timezone=True)
        case "uuid":
            return Uuid()
