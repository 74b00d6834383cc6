from pathlib import Path

from sqlalchemy import insert

from tests.vault.projects import make_project, visit
from vault.demonstration.lookups import LookupsMeanwhile


def test_lookups_run_until_the_end_and_are_counted(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(1), visit(2)])
    with LookupsMeanwhile(project.engine, project.table("visit"), [(1, "99-00001"), (2, "99-00002")]) as right:
        while not right.done:
            pass
    assert right.wrong == 0
    with LookupsMeanwhile(project.engine, project.table("visit"), [(2, "99-00001"), (1, "99-77777")]) as wrong:
        while wrong.done < 2:
            pass
    assert wrong.wrong == wrong.done
