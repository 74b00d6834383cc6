"""Logs for watching: entries as the ledger writes them, of questions about one small dataset."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dp
from dp.batch import FORMAT
from dp.ledger.verifying.logged import Logged
from vault.policy import Policy
from vault.question import admit, parse
from vault.watching.asked import Asked

HOUR = 3600 * 10**6
DAY = 24 * HOUR
RULES = """
[vault]
database = "sqlite:///application.db"
kek = "local:kek"

[table.visit]
key = ["person", "year"]
[table.visit.column]
person = { type = "int" }
year = { type = "int" }
site = { type = "int" }
town = { type = "str" }
name = { type = "str" }
age = { type = "int" }
spending = { type = "float" }
female = { type = "int" }

[dataset.visits]
table = "visit"
unit = "person"
rows_per_unit = 2
lifetime_epsilon = "1"
lifetime_delta = "1e-6"
bounds.spending = { lower = 0, upper = 100, step = "0.5" }
bounds.age = { lower = 1, upper = 100 }
groups.site = [1, 2, 3, 4]
groups.town = ["Ulm", "Bonn"]
"""
POLICY = Policy.read(RULES, Path("/srv"))


def entry(
    number: int,
    *texts: str,
    who: str = "ann",
    epsilon: str | None = "0.1",
    rho: int = 0,
    at: int | None = None,
    epoch: int = 1,
    scopes: Iterable[tuple[str, str, str, int, int]] = (),
) -> Logged:
    """A charge. at: microseconds since 1970; an hour after the one before by default. Several texts are a batch."""
    canonical = sorted(admit(parse(text), POLICY, "visits").canonical() for text in texts)
    fields: dict[str, Any] = {
        "kind": "charge",
        "at": number * HOUR if at is None else at,
        "dataset": "visits",
        "principal": who,
        "epoch": epoch,
        "nano_epsilon": 0 if epsilon is None else dp.parse_epsilon(epsilon),
        "nano_rho": rho,
        "unbounded": int(epsilon is None),
        "scopes": [list(scope) for scope in scopes],
    }
    text = canonical[0] if len(texts) == 1 else json.dumps({"format": FORMAT, "questions": canonical})
    return Logged(number, fields, text)


def declared(number: int, scopes: Iterable[tuple[str, str, str, int]]) -> Logged:
    """A declaration of budgets: kind, subject, span, cap in nano-epsilon."""
    fields = {"kind": "policy", "at": number * HOUR, "dataset": "visits", "scopes": [list(scope) for scope in scopes]}
    return Logged(number, fields)


def asked(*entries: Logged) -> list[Asked]:
    return [Asked.of(one) for one in entries]
