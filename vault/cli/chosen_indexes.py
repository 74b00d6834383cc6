"""Chosen indexes: what a command was asked to move: declared fields, indexes over several columns, index names."""

from sqlalchemy import Table

from vault.changeover.phase import Subject
from vault.definitions.definition import FieldDefinition
from vault.errors import PolicyError
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import definition_of, sealed_columns
from vault.project import Project

__all__ = ["ChosenIndexes"]


class ChosenIndexes:
    """names: of indexes; None for all of the fields and tables."""

    def __init__(self, fields: list[FieldDefinition], tables: list[Table], names: list[str] | None) -> None:
        self.fields = fields
        self.tables = tables
        self.names = names

    @classmethod
    def of(cls, project: Project, place: str | None, index: str | None, *, every: bool) -> "ChosenIndexes":
        """Raises: PolicyError for what there is not, and where nothing is chosen."""
        names = None if index is None else [index]
        if every:
            fields = [definition_of(column) for table in project.tables.values() for column in sealed_columns(table)]
            return cls(fields, list(project.tables.values()), names)
        if place is None:
            raise PolicyError("name a TABLE.COLUMN, or a TABLE with an index over several columns, or say --all")
        if place in project.tables:
            return cls([], [project.tables[place]], names)
        name, _, column = place.rpartition(".")
        table = project.table(name)
        found = [definition_of(one) for one in sealed_columns(table) if one.name == column]
        if not found:
            raise PolicyError(f"{name} has no sealed column {column!r}")
        return cls(found, [], names)

    def has(self, subject: Subject) -> bool:
        """Whether what is under way is one of them, and not a field that migrates, which has commands of its own."""
        if not subject.index:
            return False
        if self.names is not None and subject.index not in self.names and subject.table:
            return False
        if not subject.table:
            return any(
                one.scope == subject.index and (self.names is None or one.name in self.names)
                for field in self.fields
                for one in field.indexes
            )
        if not subject.column:
            return any(
                (compound.definition.table, compound.definition.name) == (subject.table, subject.index)
                for table in self.tables
                for compound in compounds_of(table)
            )
        return any((field.table, field.column) == (subject.table, subject.column) for field in self.fields)
