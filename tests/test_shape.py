"""The shape of the tree: names say one concept, and each module has the test file that mirrors it."""

import ast
import gc
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "tools"}
MODULES = sorted(p.relative_to(ROOT) for top in ("kms", "dp", "vault") for p in (ROOT / top).rglob("*.py"))
# Nothing of their own to run: exceptions, Protocols, records that are exercised wherever they are used.
EXEMPT_BY_NAME = {"__init__.py", "__main__.py", "errors.py"}


def parsed(path: Path) -> ast.Module:
    """Without the garbage collector: what is called amid the work makes CPython 3.11 miscount its depth."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse((ROOT / path).read_text())
    finally:
        if collecting:
            gc.enable()


def _only_declares(path: Path) -> bool:
    """Whether a module holds nothing but imports, constants and Protocol classes."""
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef):
            if not any("Protocol" in ast.unparse(base) for base in node.bases):
                return False
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Expr):
            return False
    return True


def test_every_module_is_named_for_its_one_concept() -> None:
    assert not [p for p in MODULES if p.stem in VAGUE]


def test_every_module_begins_with_a_definition() -> None:
    silent = [p for p in MODULES if (ROOT / p).read_text().strip() and not ast.get_docstring(parsed(p))]
    assert not silent


@pytest.mark.parametrize("module", [p for p in MODULES if p.name not in EXEMPT_BY_NAME], ids=str)
def test_every_module_has_a_mirror_in_the_tests(module: Path) -> None:
    mirror = ROOT / "tests" / module.parent / f"test_{module.stem}.py"
    assert _only_declares(module) or mirror.exists(), f"write {mirror.relative_to(ROOT)}"


def test_no_module_is_too_long_to_be_one_idea() -> None:
    assert not [p for p in MODULES if len((ROOT / p).read_text().splitlines()) > 300]
