"""Public names that are imported when they are first used: type checkers, editors and programs are told the same."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dp
import vault

ROOT = Path(__file__).parents[1]
LAZY = pytest.mark.parametrize("package", [vault, dp], ids=lambda package: package.__name__)


def told_to_type_checkers(package: ModuleType) -> dict[str, str]:
    """Where the imports under TYPE_CHECKING find each name."""
    tree = ast.parse((ROOT / package.__name__ / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
    return {
        alias.asname or alias.name: str(one.module)
        for one in block.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }


@LAZY
def test_what_is_imported_is_what_type_checkers_read(package: ModuleType) -> None:
    assert told_to_type_checkers(package) == package._PLACE_OF
    assert sorted(package._PLACE_OF) == sorted(package.__all__)


@LAZY
def test_each_name_is_what_its_module_calls_so(package: ModuleType) -> None:
    for name, module in told_to_type_checkers(package).items():
        assert getattr(package, name) is getattr(import_module(module), name)


@LAZY
def test_no_name_is_that_of_a_module_which_would_take_its_place(package: ModuleType) -> None:
    """`import package.name` sets `package.name` to the module, whatever it was before."""
    folder = ROOT / package.__name__
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert not modules & set(package.__all__)


@LAZY
def test_all_are_listed_and_none_besides(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))
    everything: dict[str, object] = {}
    exec(f"from {package.__name__} import *", everything)
    assert set(everything) - {"__builtins__"} == set(package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nobody'"):
        package.nobody  # noqa: B018
    with pytest.raises(ImportError, match="nobody"):
        exec(f"from {package.__name__} import nobody")
