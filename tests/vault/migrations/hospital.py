"""Models of one application at different times: each is a MetaData of its own."""

from typing import Any

from sqlalchemy import Column, Integer, MetaData, String, Table, Text
from sqlalchemy.schema import SchemaItem

from vault.mapping import Sealed
from vault.normalise import digits
from vault.terms.term import BlindIndex


def patients(*columns: SchemaItem, schema: str | None = None, convention: dict[str, str] | None = None) -> MetaData:
    metadata = MetaData(schema=schema, naming_convention=convention)
    Table("patient", metadata, Column("id", Integer, primary_key=True), *columns)
    return metadata


def ssn(*, unique: bool = False, nullable: bool = True) -> "Column[Any]":
    return Column("ssn", Sealed(String(16), index=BlindIndex(digits), unique=unique), nullable=nullable)


def mail(*indexes: BlindIndex, nullable: bool = True) -> "Column[Any]":
    return Column("mail", Sealed(Text, index=indexes), nullable=nullable)


FULL, HALF = BlindIndex(), BlindIndex(bits=64, name="half")
