"""What docs/tenants.md shows is run as it stands there, and gives what it says."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tenants.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_program_of_the_page_gives_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shared: dict[str, object] = {"__name__": "page"}
    told: list[str] = []
    for number, block in enumerate(BLOCKS):
        test = doctest.DocTestParser().get_doctest(block, shared, f"block {number}", str(PAGE), 0)
        assert test.examples
        doctest.DocTestRunner(optionflags=doctest.FAIL_FAST | doctest.ELLIPSIS).run(
            test, out=told.append, clear_globs=False
        )
        shared = test.globs
        assert not told, "".join(told)
    shared["engine"].dispose()  # type: ignore[attr-defined]
    shared["store"].engine.dispose()  # type: ignore[attr-defined]


def test_every_python_block_of_the_page_is_such_a_program() -> None:
    assert len(BLOCKS) >= 8
    assert PAGE.read_text(encoding="utf-8").count("```") == 2 * len(BLOCKS)
