"""What a process imports before it does its work: a command that cron starts every hour waits for no more than it uses.

What is held are names of modules and not times, which hang on the machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run

# Whatever is not of Python itself and is installed with this project or on its side; typer may bring pydantic.
HEAVY = {
    "alembic", "asyncpg", "boto3", "cryptography", "distributed", "hvac", "numpy", "phonenumbers", "psycopg", "pymysql",
    "requests", "rich", "sqlalchemy",
}  # fmt: skip
COMMAND = "from vault.cli import main; main({words})"
# Of vault, what a run of maintenance with nothing due looks at: the policy, the keys, the tables' definitions, the
# ledger, and its own records. No package is here that opens a value, reads a row, or answers a question.
LOOKED_AT = {
    "vault.changeover", "vault.cli", "vault.codecs", "vault.databases", "vault.definitions", "vault.expression",
    "vault.index", "vault.jobs", "vault.jobs.walking", "vault.maintenance", "vault.mapping", "vault.modes",
    "vault.normalisers", "vault.policy", "vault.rows", "vault.sealed", "vault.terms", "vault.triggers",
    "vault.watching",
}  # fmt: skip
JOBS = {
    "change", "changes", "collector", "contention", "events", "full_disk", "heart", "job_settings", "job_store",
    "job_tables", "outage", "pace", "reencrypt", "refusal", "renewal", "row_keyrings", "short_transaction", "tally",
}  # fmt: skip


def loaded_by(program: str, folder: Path | None = None) -> set[str]:
    """The names of the modules that are there when the program has ended well."""
    telling = (
        "import sys\n"
        f"try:\n    exec({program!r})\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", telling], cwd=folder, capture_output=True, text=True, check=True)
    return set(told.stdout.splitlines()[-1].split())


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] in {"kms", "dp", "vault"}}


def heavy(modules: set[str]) -> set[str]:
    return HEAVY & {name.partition(".")[0] for name in modules}


def test_to_import_the_package_imports_nothing_else() -> None:
    modules = loaded_by("import vault, dp")
    assert (ours(modules), heavy(modules)) == ({"vault", "dp"}, set())


def test_an_error_is_caught_without_what_raises_it() -> None:
    assert ours(loaded_by("from dp import DpError")) == {"dp", "dp.errors", "dp.nano"}


def test_a_service_loads_neither_the_commands_nor_the_aggregates() -> None:
    modules = loaded_by("from vault import BlindIndex, Sealed, attach, digits, find_all, open_vault")
    assert heavy(modules) == {"cryptography", "sqlalchemy"}
    assert not {"pydantic", "typer", "vault.bridge", "vault.cli", "vault.policy", "dp"} & modules


@pytest.mark.parametrize(("word", "shown_by"), [("--version", set()), ("--help", {"rich"})])
def test_what_the_program_is_costs_no_command(word: str, shown_by: set[str]) -> None:
    modules = loaded_by(COMMAND.format(words=[word]))
    assert heavy(modules) == shown_by
    assert ours(modules) == {
        "vault", "vault.cli", "vault.cli.app", "vault.cli.commands", "vault.jobs", "vault.jobs.collector",
    }  # fmt: skip


def test_maintenance_with_nothing_due_loads_what_it_looks_at_and_not_what_it_would_do(
    loaded: Run, tmp_path: Path
) -> None:
    assert loaded("maintain").status == 0
    modules = loaded_by(COMMAND.format(words=["maintain"]), tmp_path)
    assert heavy(modules) == {"cryptography", "rich", "sqlalchemy"}
    assert not {"rich.progress", "multiprocessing", "http.client"} & modules
    packages = {name.rpartition(".")[0] for name in ours(modules)} - {"", "vault", "kms", "dp"}
    assert {name for name in packages if name.startswith("vault")} == LOOKED_AT
    assert {name.rpartition(".")[2] for name in modules if name.startswith("vault.jobs.") and name.count(".") == 2} == (
        JOBS | {"walking"}
    )
    assert {name for name in packages if name.startswith("dp")} == {
        "dp.accounting", "dp.ledger", "dp.noise",
        *(f"dp.ledger.{room}" for room in ("limits", "log", "store", "verifying")),
    }  # fmt: skip
    assert not {"vault.bridge", "vault.watching.watch", "kms.providers.hcvault", "kms.providers.awskms"} & modules


def test_a_worker_loads_the_work_that_it_does_and_no_other() -> None:
    """What a process of a pool imports to begin, and to read what it is to do; the recipe imports the work."""
    begun = "import vault.cli.app, vault.jobs.workers.worker_process, vault.jobs.workers.part_run, vault.cli.recipes"
    modules = loaded_by(begun)
    assert heavy(modules) == {"cryptography", "sqlalchemy"}
    works = {"vault.jobs.reencrypt", "vault.jobs.migrating", "vault.jobs.reindexing", "vault.jobs.verifying.verify"}
    assert not (works | {"vault.bridge", "vault.watching", "vault.retirement"}) & modules
