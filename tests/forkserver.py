"""Forkserver: processes that tests start, forked off one that has imported most of what they need and opened nothing.

It is one a process, and loads what was named when the first of them is started: so that all is named here.
"""

import multiprocessing
from typing import Final

PROCESSES: Final = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "pytest",
        "tests.kms.racing",
        "tests.kms.scripted_provider",
        "tests.dp.ledger.charging",
        "tests.flows.faults.runs",
        "tests.flows.faults.traffic",
        "tests.everything",
    ]
)
