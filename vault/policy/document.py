"""Policy: the whole of noisevault.toml, checked: where things are, the tables, the datasets."""

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError

from dp.grid import Grid
from vault.expression import Column, Expression
from vault.policy.budget_rules import lifetime_faults
from vault.policy.dataset import DatasetPolicy
from vault.policy.dataset_rules import dataset_faults
from vault.policy.faults import PolicyFaultsError, shape_faults
from vault.policy.maintenance import Maintenance
from vault.policy.name import Name
from vault.policy.section import Section
from vault.policy.shared_lifetime import SharedLifetime
from vault.policy.storage import Storage
from vault.policy.table import TablePolicy
from vault.policy.table_rules import table_faults


class Policy(Section):
    """A checked policy: a value that exists is consistent, and its paths are absolute.

    table: of the file, or of an application's mapped classes; empty when neither was given, which is enough for keys.
    """

    vault: Storage
    table: Annotated[dict[Name, TablePolicy], Field(min_length=1)] = Field(default_factory=dict)
    dataset: dict[Name, DatasetPolicy] = Field(default_factory=dict)
    lifetime: dict[Name, SharedLifetime] = Field(default_factory=dict)
    maintenance: Maintenance = Maintenance()

    @classmethod
    def load(cls, path: Path, mapped: Mapping[str, TablePolicy] | None = None) -> Self:
        """Read a policy file; relative paths in it are relative to its folder.

        mapped: the tables of an application's mapped classes, for a file that names none.
        Raises: PolicyFaultsError (a PolicyError), with all faults of one kind: first the file's spelling, then the
        shape of its values, then what contradicts what.
        """
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            reason = "is not UTF-8 text; save it as UTF-8"
        else:
            return cls.read(text, path.parent.absolute(), path.name, mapped)
        raise PolicyFaultsError(str(path), [reason])

    @classmethod
    def read(
        cls,
        text: str,
        folder: Path,
        file: str = "noisevault.toml",
        mapped: Mapping[str, TablePolicy] | None = None,
    ) -> Self:
        """The policy of a file's text. folder: what relative paths are relative to; file: its name in errors.

        Raises: PolicyFaultsError as `load`.
        """
        policy = cls._shaped(text, file)
        placed, faults = policy.vault.placed(folder)
        lines = [f"vault.{key}: {wrong}" for key, wrong in faults]
        lines += table_faults(policy.table)
        if mapped is not None and policy.table:
            lines.append("table: the mapped classes of --models are the tables; remove this section, or --models")
        tables = policy.table if mapped is None else dict(mapped)
        if tables:
            lines += dataset_faults(policy.dataset, tables)
            lines += lifetime_faults(policy.lifetime, policy.dataset, tables)
        if lines:
            raise PolicyFaultsError(file, lines)
        return policy.model_copy(
            update={"vault": placed, "table": tables, "maintenance": policy.maintenance.placed(folder)}
        )

    @classmethod
    def _shaped(cls, text: str, file: str) -> Self:
        # Errors are raised outside the except blocks: what pydantic and tomllib chain holds the file's text.
        try:
            return cls.model_validate(tomllib.loads(text, parse_float=Decimal))
        except tomllib.TOMLDecodeError as error:
            faults = [f"is not TOML: {error}"]
        except ValidationError as error:
            faults = shape_faults([dict(one) for one in error.errors(include_input=False, include_url=False)])
        raise PolicyFaultsError(file, faults)

    @property
    def database_url(self) -> str:
        """The SQLAlchemy URL of the application's tables."""
        return self.vault.database

    @property
    def keys_url(self) -> str:
        """The SQLAlchemy URL of the keys, counters and definitions."""
        return self.vault.keys_url

    @property
    def ledger_url(self) -> str:
        """The SQLAlchemy URL of the ledger."""
        return self.vault.ledger_url

    def grid(self, dataset: str, of: str | Expression) -> Grid:
        """The grid that a dataset declares for a column, given by name, or for an expression.

        Raises: KeyError if there is no such dataset, or it declares no bounds for it.
        """
        opened = self.dataset[dataset]
        expression = Column(of) if isinstance(of, str) else of
        bounds = opened.bounds_of(expression)
        if bounds is None:
            raise KeyError(str(of))
        if not isinstance(expression, Column):
            return bounds.grid("float")
        return bounds.grid("int" if self.table[opened.table].column[expression.name].type == "int" else "float")
