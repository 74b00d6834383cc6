"""What was not run: tests whose program is not on this machine are named at the end, with the command to type.

A fixture calls need_program(); tests/conftest.py passes pytest's reports on to NotRun. Under CI=true the run fails.
"""

import importlib.util
import os
import shutil
from collections import defaultdict

import pytest

PROPERTY = "not run"
# Debian puts servers where an ordinary user's PATH does not look.
SERVERS = "/usr/local/sbin:/usr/sbin:/sbin"
KEY = pytest.StashKey["NotRun"]()


def find_program(program: str) -> str | None:
    """Where the program is, also when it is a server's."""
    return shutil.which(program) or shutil.which(program, path=SERVERS)


def need_program(node: pytest.Item, program: str, command: str) -> str:
    """Where the program is; or the test is skipped and recorded. command: what to type to have it."""
    found = find_program(program)
    if found is None:
        node.user_properties.append((PROPERTY, f"{program} is not on this machine; type: {command}"))
        pytest.skip(f"{program} is not on this machine")
    return found


def need_module(node: pytest.Item, module: str) -> None:
    """Skip and record the test if a module of the test dependencies is not installed."""
    if importlib.util.find_spec(module) is None:
        node.user_properties.append((PROPERTY, f"{module} is not installed; type: pip install {module}"))
        pytest.skip(f"{module} is not installed")


class NotRun:
    """The recorded tests of a run, by what they miss; with xdist, those of all workers."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def note(self, report: pytest.TestReport) -> None:
        if report.skipped:
            for name, missing in report.user_properties:
                if name == PROPERTY:
                    self.tests[str(missing)].append(report.nodeid)

    @property
    def fails(self) -> bool:
        return bool(self.tests) and os.environ.get("CI") == "true"

    def tell(self, terminal: pytest.TerminalReporter) -> None:
        for missing, tests in self.tests.items():
            terminal.section(f"tests NOT RUN: {len(tests)}; {missing}", red=True, bold=True)
            for test in sorted(tests):
                terminal.line(test)
        if self.fails:
            terminal.line("CI=true, where everything has to run: this is a failure", red=True, bold=True)
