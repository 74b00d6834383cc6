"""Works: the jobs of a field's migration by the names that are typed."""

from typing import Final

from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.clear import Clear
from vault.jobs.migrating.restore import Restore

__all__ = ["WORKS"]

WORKS: Final[dict[str, type[Backfill | Restore | Clear]]] = {"backfill": Backfill, "restore": Restore, "clear": Clear}
