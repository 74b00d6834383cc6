"""Part run: what a worker does with a part task, in its own process, with the keyring that it has opened itself.

It raises nothing: an exception would be pickled with what it holds, as a database's own error may hold a row.
"""

import platform
from collections.abc import Callable
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from kms import KmsError
from vault.errors import VaultError
from vault.jobs.events import Event, Waiting
from vault.jobs.job_store import JobWish
from vault.jobs.workers.kept_open import KeptOpen, sessions
from vault.jobs.workers.part_store import PartStore
from vault.jobs.workers.part_task import PartReport, PartTask
from vault.jobs.workers.recipe import Given, Supply
from vault.jobs.workers.worker_process import stop_of_this_process, working

__all__ = ["run_part"]

# Ours: kinds of waiting that a report tells.
MOST_WAITED: Final = 10


def run_part(task: PartTask) -> PartReport:
    """Do the part; called by an executor, in a thread of a worker."""
    waited: dict[str, float] = {}

    def noted(event: Event) -> None:
        if isinstance(event, Waiting) and len(waited) < MOST_WAITED:
            waited.setdefault(event.reason, event.seconds)

    try:
        with working(), sessions().using(task.session) as kept:
            return _report(task, kept, noted, waited)
    except (VaultError, KmsError) as error:
        failure = str(error)
    except SQLAlchemyError as error:
        failure = f"the database refused or did not answer ({type(error).__name__})"  # its own text may quote a row
    except Exception as error:  # noqa: BLE001  # told without its text, which may hold anything
        failure = f"{type(error).__name__} in the worker"
    return PartReport(failure=f"{platform.node()}: {failure}", waited=tuple(waited.items()))


def _report(task: PartTask, kept: KeptOpen, notify: Callable[[Event], None], waited: dict[str, float]) -> PartReport:
    supply: Supply = kept.get(task.recipe, lambda: task.recipe.open(kept))
    job = supply.job(Given(task.settings, task.part.key_range, notify, stop_of_this_process()))
    goal = job.refreshed_goal()
    if goal != task.goal:
        return PartReport(other_goal=goal)
    store = PartStore(supply.engine, task.of, task.run)
    if job.outage().outlast(store.wished) is JobWish.STOP:  # meanwhile it waited for a worker
        return PartReport(stopped=True)
    result = job.run_part(store, task.part.name, task.mark, task.rows)
    return PartReport(stopped=result.stopped, waited=tuple(waited.items()))
