"""Recipe: how a worker process comes by the work of a job by itself; the only thing about the work that travels.

It names what is to be opened: the policy, the table, the options. Whoever reads it on its way learns no key, no
plaintext and no password of a key service.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Engine

from vault.jobs.work import Work
from vault.jobs.workers.kept_open import KeptOpen

__all__ = ["Recipe", "Supply"]


@dataclass(frozen=True, slots=True, repr=False)
class Supply:
    """make: a fresh work each time, since one is no thread's but its own. engine: of the data, shared."""

    engine: Engine
    make: Callable[[], Work]


class Recipe(Protocol):
    """A frozen value that pickles, of a class that the worker can import; equal ones are opened once a session."""

    def open(self, kept: KeptOpen) -> AbstractContextManager[Supply]:
        """Open the keyring and the database here, until the session ends. Raises: KmsError, VaultError.

        kept: for what several recipes of the session open alike, as the project.
        """
        ...

    def __hash__(self) -> int: ...
