"""demo: the main job from end to end on real records, in a folder of its own, on SQLite and a local key file."""

import sys
import tempfile
from contextlib import closing
from itertools import islice
from pathlib import Path
from shlex import quote
from shutil import which
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

import dp
from dp.errors import BudgetExhaustedError
from dp.ledger import Ledger
from vault.bridge import answer
from vault.cli import budget_display, initialising, looking, rotating
from vault.cli.answer_display import number
from vault.cli.job_display import job_display
from vault.cli.job_ending import in_one_line
from vault.cli.options import open_project
from vault.demonstration.exact import Exact, by_site
from vault.demonstration.lookups import LookupsMeanwhile
from vault.demonstration.people import invented, records, write_csv
from vault.files.csv_file import numbered_rows
from vault.files.load import load
from vault.jobs.engine import Job
from vault.jobs.reencrypt import Reencrypt
from vault.opened_ledger import open_ledger
from vault.project import Project
from vault.question import parse

TABLE, DATASET = "person_year", "rand"
console = Console(highlight=False, soft_wrap=True)


def demo(
    folder: Annotated[Path | None, typer.Option(help="Where the files go; a new temporary folder by default.")] = None,
) -> None:
    """Import, seal, look up, rotate and ask, on 20,190 records of the RAND Health Insurance Experiment."""
    place = folder or Path(tempfile.mkdtemp(prefix="noisevault-demo-"))
    place.mkdir(parents=True, exist_ok=True)
    policy = place / "noisevault.toml"
    initialising.write_example(policy, "demo.toml")

    step("noisevault init")
    initialising.init(policy)
    with open_project(policy) as project:
        show_all(project, policy, place)
    say_where(place)


def show_all(project: Project, policy: Path, place: Path) -> None:
    step("noisevault import people.csv   (real records; names, e-mails and identity numbers are made up)")
    write_csv(place / "people.csv")
    rows = load(project.engine, project.table(TABLE), numbered_rows(place / "people.csv", project.policy.table[TABLE]))
    console.print(f"{rows} rows sealed and stored in {TABLE}")

    step("noisevault show --raw --limit 1   (what a thief of the disk sees)")
    looking.show(limit=1, raw=True, policy=policy)
    person = next(records())["person"]
    step(f"noisevault find national_id {invented(person)[2]}   (by the blind index)")
    looking.find("national_id", invented(person)[2], policy=policy)

    rotate_meanwhile(project, policy)
    with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
        ask_beside_exact(project, ledger)
        repeat_and_exhaust(project, ledger)


def step(title: str) -> None:
    console.print(f"\n[bold]== {title}[/bold]")


def rotate_meanwhile(project: Project, policy: Path) -> None:
    step("noisevault rotate; noisevault reencrypt   (look-ups by identity number go on)")
    rotating.rotate(policy=policy)
    identities = [(int(r["person"]), invented(r["person"])[2]) for r in islice(records(), 0, 5000, 100)]
    table = project.table(TABLE)
    with LookupsMeanwhile(project.engine, table, identities) as meanwhile, job_display(console) as notify:
        tally = Job(Reencrypt.of(table, project.opened), project.engine, notify=notify).run()
    console.print(in_one_line(tally, project.active_data_key_id))
    console.print(f"meanwhile {meanwhile.done} look-ups, {meanwhile.wrong} of them wrong")
    tally.require_complete()


def ask_beside_exact(project: Project, ledger: Ledger) -> None:
    step("noisevault ask ... --epsilon 0.5   (each question is charged; exact figures from the CSV, not the vault)")
    bounds = project.policy.dataset[DATASET].bounds["medical_spending"]
    exact = by_site(records(), "medical_spending", float(bounds.lower), float(bounds.upper))
    for text in ("count(*) by site", "sum(medical_spending) by site", "mean(medical_spending) by site"):
        released = ask(project, ledger, text)
        grid = Grid(
            "site", "noisy answer", f"interval ({released.interval_label})", "exact, as bounded", "exact", title=text
        )
        for group, (site, figures) in zip(released.groups, exact.items(), strict=True):
            low, high = (number(bound) for bound in group.interval)
            clamped, plain = exact_figures(text, figures)
            grid.add_row(str(site), number(group.value), f"{low} … {high}", clamped, plain)
        console.print(grid)
    console.print(budget_display.in_one_line(DATASET, ledger.status(DATASET)))


def exact_figures(text: str, exact: Exact) -> tuple[str, str]:
    if text.startswith("count"):
        return f"{exact.rows:,}", f"{exact.rows:,}"
    divisor = exact.rows if text.startswith("mean") else 1
    return f"{exact.clamped / divisor:,.2f}", f"{exact.total / divisor:,.2f}"


def ask(project: Project, ledger: Ledger, text: str, epsilon: str = "0.5") -> dp.Answer:
    return answer(project, ledger, DATASET, parse(text), price=dp.Price.pure(dp.parse_epsilon(epsilon)), who="demo")


def repeat_and_exhaust(project: Project, ledger: Ledger) -> None:
    step("the same question again, in other words: the same answer, free")
    first, again = (ask(project, ledger, text) for text in ("count(*) by site", "COUNT  BY site"))
    console.print(f"same answer: {first == again}; {budget_display.in_one_line(DATASET, ledger.status(DATASET))}")
    step("questions until the budget is gone")
    try:
        for age in range(20, 80, 10):
            ask(project, ledger, f"count(*) where age >= {age}")
            console.print(f"count(*) where age >= {age}: answered")
    except BudgetExhaustedError as refusal:
        console.print(f"refused: {refusal}")
    again = ask(project, ledger, "count(*) by site")
    console.print(f"the answer that was paid for is still given: {again == first}")


def say_where(place: Path) -> None:
    step(f"the files, in {place}")
    said = {
        "noisevault.toml": "the policy",
        "people.csv": "what was imported, in the clear: delete it",
        "health.kek": "the key-encryption key: keep it elsewhere",
        "health.db": "the records, sealed",
        "health.keys.db": "the data keys, wrapped",
        "health.ledger.db": "the budget, the sealed answers and the audit log",
    }
    for name, what in said.items():
        console.print(f"  {name:18} {what}")
    console.print(f"go on there: cd {quote(str(place))} && {command()} ask 'count(*) by site' --epsilon 0.5")


def command() -> str:
    """`noisevault` as one can type it now: by its path when the environment that it is in is not on the PATH."""
    return "noisevault" if which("noisevault") else quote(str(Path(sys.executable).with_name("noisevault")))
