"""Workers of any executor."""

from concurrent.futures import ThreadPoolExecutor

from vault.jobs.workers.workers import WorkersOf


def test_an_executor_that_somebody_else_made_is_used_as_it_is() -> None:
    with ThreadPoolExecutor(1) as threads:
        workers, others = WorkersOf(threads, 3), WorkersOf(threads, 3)
        assert workers.submit(len, "abc").result() == 3
        assert workers.count == 3
    assert workers.session != others.session
