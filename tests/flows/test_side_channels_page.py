"""What docs/side-channels.md shows is run as it stands there, and its table is that of the outcomes."""

import json
import re
import time
from datetime import timedelta
from pathlib import Path

import dp
from tests.vault.projects import POLICY, make_project
from vault.budgets import declare_budgets
from vault.deadline import Told
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.question import parse

PAGE = (Path(__file__).parents[2] / "docs" / "side-channels.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(TOML,) = re.findall(r"```toml\n\[dataset.rand\]\n(.*?)```", PAGE, re.DOTALL)
WITH_THE_LINE = POLICY.format(database="sqlite:///a.db").replace("[dataset.visits]\n", "[dataset.visits]\n" + TOML)


def test_the_program_of_the_page_gives_an_answer_at_the_deadline(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    ledger = open_ledger(project.policy, project.opened.keyring)
    declare_budgets(ledger, project.policy)
    rules = project.policy.dataset["visits"].model_copy(update={"deadline": timedelta(seconds=1)})
    project = type(project)(
        project.policy.model_copy(update={"dataset": {"rand": rules}}), project.engine, project.tables, project.opened
    )
    ledger.declare("rand", rules.lifetime_nano)
    names = {
        "project": project,
        "ledger": ledger,
        "question": parse("count(*)"),
        "price": dp.Price.pure(10**8),
        "time_of_arrival": time.monotonic(),
    }
    exec(PROGRAM, names)
    assert time.monotonic() - names["time_of_arrival"] >= 1  # type: ignore[operator]
    body = json.loads(names["body"])  # type: ignore[arg-type]
    assert (body["told"], sorted(body)) == ("answered", ["answer", "text", "told"])
    names["desk"].close()  # type: ignore[attr-defined]
    ledger.close()
    project.close()


def test_the_table_names_every_outcome_and_no_other() -> None:
    assert re.findall(r"^\| `([a-z ]+)` \|", PAGE, re.MULTILINE)[1:] == [told.value for told in Told]
    assert Policy.read(WITH_THE_LINE, Path("/srv")).dataset["visits"].deadline.total_seconds() == 5
