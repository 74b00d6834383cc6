"""Dask cluster: workers on other machines, reached through the scheduler of a Dask cluster.

Whoever reaches a scheduler runs what he likes in its workers, which hold keys: so only TLS is spoken, with the
certificates that Dask's own configuration names for both sides.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from kms import MissingExtraError
from vault.errors import JobError
from vault.jobs.workers.kept_open import sessions
from vault.jobs.workers.workers import LOST

try:
    from distributed import Client, KilledWorker
except ModuleNotFoundError:
    raise MissingExtraError("a Dask cluster needs an extra: pip install 'noisevault[dask]'") from None

__all__ = ["DaskCluster"]

# Ours: seconds for the scheduler to answer, and for a first worker to be there.
CONNECT_SECONDS: Final = 30.0
AWAY: Final = "what was written so far stays: go on by the same command"

T = TypeVar("T")
R = TypeVar("R")


class DaskCluster:
    """Used within `with`; the cluster stays when it ends. count: of its workers' threads. Satisfies Workers."""

    lost = (*LOST, KilledWorker)

    def __init__(self, address: str, *, security: Any = None, seconds: float = CONNECT_SECONDS) -> None:
        """address: of the scheduler, tls://HOST:PORT. security: distributed.Security; as Dask is configured by default.

        Raises: JobError when the scheduler is not reached, or has no worker.
        """
        if not address.startswith("tls://"):
            raise JobError(
                f"{address} is no tls:// address: whoever reaches a scheduler runs what he likes in workers that hold"
                " keys; start scheduler and workers with certificates (docs/workers.md)"
            )
        self._address = address
        self.session = secrets.token_hex()
        others = {} if security is None else {"security": security}
        try:
            self._client: Any = Client(address, timeout=seconds, set_as_default=False, name="noisevault", **others)
        except (OSError, ValueError, TypeError) as error:
            reason = type(error).__name__
        else:
            self.count = self._counted(seconds)
            self._executor: Executor = self._client.get_executor(pure=False)
            return
        raise JobError(
            f"the scheduler {address} is not reached ({reason}): see its address, and the certificates that Dask's"
            " configuration names as distributed.comm.tls"
        )

    def submit(self, run: Callable[[T], R], task: T) -> "Future[R]":
        """Raises: JobError when the scheduler is away for good."""
        if self._client.status not in {"running", "connecting"}:
            raise JobError(f"the scheduler {self._address} is away; {AWAY}")
        return self._executor.submit(run, task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(Exception):  # what a worker keeps open it closes at the next session
            self._client.run(_end_session, self.session)
        self._client.close()

    def _counted(self, seconds: float) -> int:
        try:
            self._client.wait_for_workers(1, timeout=seconds)
            return max(1, int(sum(self._client.nthreads().values())))
        except TimeoutError:
            self._client.close()
        raise JobError(f"the scheduler {self._address} has no worker: start one by `dask worker` (docs/workers.md)")


def _end_session(session: str) -> None:
    """In each worker."""
    sessions().end(session)
