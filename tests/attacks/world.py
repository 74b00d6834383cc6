"""Two worlds for attacks: projects that differ by one person at each site, and what an analyst does in them.

A site is a trial of its own: its person is in one world and not in the other, and counts in no other group. So one
question grouped by site is as many independent trials as there are sites, each at the question's whole price.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sqlalchemy import insert

import dp
from dp.ledger import Ledger
from kms import ProviderSettings
from kms.providers.local import create_key_file
from vault.bridge import answer, answers
from vault.budgets import declare_budgets
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.project import Project
from vault.question import parse

POLICY = """
[vault]
database = "sqlite:///application.db"
keys = "sqlite:///keys.db"
ledger = "sqlite:///ledger.db"
kek = "local:kek"

[table.visit]
key = ["person"]
[table.visit.column]
person = {{ type = "int" }}
site = {{ type = "int" }}
age = {{ type = "int", sealed = true, bind = ["person"] }}
ill = {{ type = "int" }}
"""
DATASET = """
[dataset.{name}]
table = "visit"
unit = "person"
rows_per_unit = 1
lifetime_epsilon = "{lifetime}"
bounds.age = {{ lower = 0, upper = 120 }}
groups.site = {sites}
"""
# The person that is looked for is the only one of this age, and ill.
TARGET_AGE = 93


@dataclass(frozen=True)
class Answered:
    """values: of each site. scale: of the noise, as the answer tells it."""

    values: tuple[int, ...]
    scale: Fraction


@dataclass(frozen=True)
class World:
    project: Project
    ledger: Ledger

    @property
    def spent(self) -> int:
        """What its ledger says that one person may have lost, in nano-epsilon."""
        return self.ledger.status("visits").spent

    def ask(self, text: str, nano: int, who: str = "ann", dataset: str = "visits") -> Answered:
        price = dp.Price.pure(nano)
        return _answered(answer(self.project, self.ledger, dataset, parse(text), price=price, who=who))

    def ask_at_once(self, texts: Sequence[str], nano: int, who: str = "ann") -> list[Answered]:
        """As one batch."""
        prices = {parse(text): dp.Price.pure(nano) for text in texts}
        together = answers(self.project, self.ledger, "visits", prices, atto_delta=0, who=who)
        return [_answered(one) for one in together.answers]


@contextmanager
def world(
    folder: Path,
    *,
    sites: int,
    with_person: bool,
    lifetime: str = "1000",
    datasets: Sequence[str] = ("visits",),
    rules: str = "",
) -> Iterator[World]:
    """Two other persons at each site, and the one that is looked for or not.

    datasets: names for the same rows. rules: more lines of each.
    """
    folder.mkdir()
    create_key_file(folder / "kek")
    labels = list(range(1, 1 + sites))
    text = POLICY.format() + "".join(
        DATASET.format(name=name, lifetime=lifetime, sites=labels) + rules for name in datasets
    )
    (folder / "noisevault.toml").write_text(text, encoding="utf-8")
    rows = [
        {"person": 3 * site + place, "site": site, "age": TARGET_AGE if place == 2 else 40, "ill": 1}
        for site in range(1, 1 + sites)
        for place in range(3 if with_person else 2)
    ]
    with ExitStack() as stack:
        project = Project.create(Policy.load(folder / "noisevault.toml"), ProviderSettings())
        stack.callback(project.close)
        with project.engine.begin() as connection:
            connection.execute(insert(project.table("visit")), rows)
        ledger = open_ledger(project.policy, project.opened.keyring)
        stack.callback(ledger.close)
        declare_budgets(ledger, project.policy)
        yield World(project, ledger)


@dataclass(frozen=True)
class Pair:
    """The world without the person, and the one with them."""

    without: World
    with_person: World

    @property
    def each(self) -> tuple[World, World]:
        return self.without, self.with_person


@contextmanager
def pair(folder: Path, sites: int) -> Iterator[Pair]:
    with (
        world(folder / "without", sites=sites, with_person=False) as without,
        world(folder / "with", sites=sites, with_person=True) as with_person,
    ):
        yield Pair(without, with_person)


def _answered(released: dp.Answer) -> Answered:
    (noise,) = released.noise
    return Answered(tuple(int(group.value) for group in released.groups), noise.scale)
