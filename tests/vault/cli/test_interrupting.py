import os
import signal
import threading

import pytest

from vault.cli.interrupting import SIGNALS, stops_on_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_asks_and_the_second_does_what_it_did_before(number: signal.Signals) -> None:
    seen: list[int] = []
    before = signal.signal(number, lambda received, _frame: seen.append(received))
    try:
        with stops_on_signals() as stop:
            os.kill(os.getpid(), number)
            assert stop.wait(5)
            assert seen == []
            os.kill(os.getpid(), number)
            assert seen == [number]
        os.kill(os.getpid(), number)
        assert seen == [number, number], "afterwards all is as it was"
    finally:
        signal.signal(number, before)


def test_in_another_thread_signals_are_left_alone() -> None:
    before, given = signal.getsignal(signal.SIGINT), []

    def run() -> None:
        with stops_on_signals() as stop:
            given.append((stop.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert given == [(False, before)]
