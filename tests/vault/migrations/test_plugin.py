"""The plugin: Alembic finds it, whatever is imported first."""

import subprocess
import sys

import pytest

from tests.vault.migrations.alembic_project import ROOT


@pytest.mark.parametrize("first", ["alembic.op", "alembic.autogenerate", "vault.migrations.rendering"])
def test_alembic_knows_the_operations_whichever_is_imported_first(first: str) -> None:
    program = (
        f"import {first}; from alembic import op; print(*(hasattr(op, name) for name in"
        " ('add_sealed_column', 'drop_sealed_column', 'create_blind_index', 'drop_blind_index')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("True True True True\n", "")


def test_without_alembic_the_vault_loads_nothing_of_it() -> None:
    program = "import sys, vault, vault.cli; print('alembic' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
