"""Policy: the whole of noisevault.toml, checked: where things are, the tables, the datasets."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError

from dp.grid import Grid
from vault.policy.dataset import DatasetPolicy
from vault.policy.dataset_rules import dataset_faults
from vault.policy.faults import PolicyFaultsError, shape_faults
from vault.policy.name import Name
from vault.policy.section import Section
from vault.policy.storage import Storage
from vault.policy.table import TablePolicy
from vault.policy.table_rules import table_faults


class Policy(Section):
    """A checked policy: a value that exists is consistent, and its paths are absolute."""

    vault: Storage
    table: Annotated[dict[Name, TablePolicy], Field(min_length=1)]
    dataset: dict[Name, DatasetPolicy] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a policy file; relative paths in it are relative to its folder.

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
            return cls.read(text, path.parent.absolute(), path.name)
        raise PolicyFaultsError(str(path), [reason])

    @classmethod
    def read(cls, text: str, folder: Path, file: str = "noisevault.toml") -> Self:
        """The policy of a file's text. folder: what relative paths are relative to; file: its name in errors.

        Raises: PolicyFaultsError as `load`.
        """
        policy = cls._shaped(text, file)
        placed, faults = policy.vault.placed(folder)
        lines = [f"vault.{key}: {wrong}" for key, wrong in faults]
        lines += table_faults(policy.table) + dataset_faults(policy.dataset, policy.table)
        if lines:
            raise PolicyFaultsError(file, lines)
        return policy.model_copy(update={"vault": placed})

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

    def grid(self, dataset: str, column: str) -> Grid:
        """The grid that a dataset declares for a column.

        Raises: KeyError if there is no such dataset, or it declares no bounds for the column.
        """
        opened = self.dataset[dataset]
        kind = self.table[opened.table].column[column].type
        return opened.bounds[column].grid("int" if kind == "int" else "float")
