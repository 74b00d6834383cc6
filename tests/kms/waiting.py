"""What a scripted provider does while it is asked: it says so, and waits until the test lets it go on."""

import threading
from collections.abc import Callable

STUCK_SECONDS = 30


def waits_for(gate: threading.Event, asking: threading.Event | None = None) -> Callable[[], None]:
    def wait() -> None:
        if asking is not None:
            asking.set()
        gate.wait(STUCK_SECONDS)

    return wait
