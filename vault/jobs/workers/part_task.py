"""Part task: what is sent to a worker for it to do one part of a pass, and what it sends back. Both are pickled.

No key, wrapped or not, no password and no value of a row is in either: the recipe names what is to be opened, the ends
of the part are primary keys, and what went wrong is one line that holds no value.
"""

from dataclasses import dataclass

from vault.jobs.job_store import JobName
from vault.jobs.parts import Part
from vault.jobs.workers.recipe import PartSettings, Recipe

__all__ = ["PartReport", "PartTask"]


@dataclass(frozen=True, slots=True)
class PartTask:
    """session: that the worker opens what it needs for (kept_open.py).

    of, run, mark: the job, which run of it, and which pass. goal: that the run brings the rows to.

    rows: that the part is thought to have.
    """

    session: str
    recipe: Recipe
    settings: PartSettings
    of: JobName
    run: str
    mark: str
    goal: str
    part: Part
    rows: int


@dataclass(frozen=True, slots=True)
class PartReport:
    """How a part ended; its counts are in the database. stopped: before its end, as was wished.

    failure: why it could not be done. other_goal: the worker would bring the rows to something else, and did nothing.
    waited: what it waited for meanwhile, with the seconds that were left to wait.
    """

    stopped: bool = False
    failure: str = ""
    other_goal: str = ""
    waited: tuple[tuple[str, float], ...] = ()
