"""`noisevault inspect leakage` on the demonstration's records, beside a count of its own, and its advice by hand."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from math import log2
from pathlib import Path
from typing import Any

import pytest

from vault.cli import main
from vault.demonstration.people import INVENTED, invented, records, write_csv

PAGE = Path(__file__).parents[2] / "docs" / "leakage.md"
POLICY = """
[vault]
database = "sqlite:///health.db"
kek = "local:health.kek"

[table.person_year]
key = ["person", "year"]
[table.person_year.column]
person = { type = "int" }
year = { type = "int" }
plan = { type = "int", sealed = true }
site = { type = "int", sealed = true }
name = { type = "str", sealed = true, index = { normalise = "casefold" } }
email.type = "str"
email.sealed = true
email.index = [
  { normalise = "casefold" },
  { name = "rough", normalise = "casefold", bits = 11 },
  { name = "at", normalise = "domain" },
]
national_id = { type = "str", sealed = true, index = { normalise = "digits" } }
female = { type = "int", sealed = true }
age = { type = "float", sealed = true }
education_years = { type = "float", sealed = true }
income = { type = "float", sealed = true }
doctor_visits = { type = "int", sealed = true }
medical_spending = { type = "float", sealed = true }
health_index = { type = "float", sealed = true }
"""
NO_INDEX = "no index: of {} values each is known from how often it occurs"
FREQUENT = "an index shows the frequent values"
OR_ELSE = "full length, if it may be seen which rows have equal values; else bits = {}"
OR_NONE = "full length, if it may be seen which rows have equal values; else none, fewer bits open too many rows"


@dataclass(frozen=True)
class ByHand:
    """How the values of a measured column are read from the CSV, and what one has to be advised, and why."""

    column: str
    normaliser: str
    read: Callable[[str], Any]
    advice: str


EXPECTED = [
    # Two sexes, of 52 and 48 %, and six sites, of 22 to 12 %: a census tells which is which.
    ByHand("female", "exact/1", int, NO_INDEX.format(2)),
    ByHand("site", "exact/1", int, NO_INDEX.format(6)),
    # 18 plans, one of which a third of all have: it is known at a glance, and by elimination the next ones.
    ByHand("plan", "exact/1", int, FREQUENT),
    # 35 lengths of schooling, of which 12 years (40 %) are known at once; 59 numbers of visits, of which 0 (31 %) is.
    ByHand("education_years", "exact/1", float, FREQUENT),
    ByHand("doctor_visits", "exact/1", int, FREQUENT),
    # 14,549 sums, nearly all rare, but 22 % of the rows spent nothing: an index would show who did not see a doctor.
    ByHand("medical_spending", "exact/1", float, FREQUENT),
    # 2.3 % of the rows have one income, 5 % one state of health: above one in fifty, so that it is told.
    ByHand("income", "exact/1", float, FREQUENT),
    ByHand("health_index", "exact/1", float, FREQUENT),
    # 17,503 ages in days: five rows at most have one. 2^13 terms for 17,502 others are 2.1 each, 2^14 would be 1.07.
    ByHand("age", "exact/1", float, OR_ELSE.format(13)),
    # 120 names of about 168 rows each: 2^5 terms leave each two others and more (3.7), but a look-up then opens 625
    # rows of them, more than 142, the square root of all.
    ByHand("name", "casefold/1", str.casefold, OR_NONE),
    # 5,912 persons of one to five rows: 2^11 terms for 5,911 others are 2.9 each, 2^12 would be 1.4.
    ByHand("email", "casefold/1", str.casefold, OR_ELSE.format(11)),
    ByHand("national_id", "digits/1", lambda text: text.replace("-", ""), OR_ELSE.format(11)),
    # All addresses are at example.org: an index of the domain finds all rows or none, and shows what everybody knows.
    ByHand("email", "domain/1", lambda text: text.casefold().split("@")[1], "no index: the one value is known"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the records are sealed."""
    place = tmp_path_factory.mktemp("health")
    (place / "noisevault.toml").write_text(POLICY, encoding="utf-8")
    write_csv(place / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("COLUMNS", "200")
        for words in (["init"], ["import", "people.csv"]):
            with pytest.raises(SystemExit) as stopped:
                main(words)
            assert not stopped.value.code
        yield place


@pytest.fixture(scope="module")
def reported(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What the command says of every column, by column and normaliser."""
    said = StringIO()
    with redirect_stdout(said), pytest.raises(SystemExit) as stopped:
        main(["inspect", "leakage", "--json"])
    assert not stopped.value.code
    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    return {(line["column"].removeprefix("person_year."), line["normaliser"]): line for line in lines}


def values_of(expected: ByHand) -> list[Any]:
    """From the CSV, None where it is empty; the made-up columns by their maker."""
    if expected.column in INVENTED:
        at = INVENTED.index(expected.column)
        return [expected.read(invented(record["person"])[at]) for record in records()]
    return [expected.read(text) if (text := record[expected.column]) else None for record in records()]


def test_every_sealed_column_is_measured_by_each_of_its_normalisers(
    reported: dict[tuple[str, str], dict[str, Any]],
) -> None:
    assert set(reported) == {(expected.column, expected.normaliser) for expected in EXPECTED}


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda one: f"{one.column}-{one.normaliser.partition('/')[0]}")
def test_the_figures_are_those_of_an_independent_count_and_the_advice_is_right_by_hand(
    expected: ByHand, reported: dict[tuple[str, str], dict[str, Any]]
) -> None:
    found = reported[expected.column, expected.normaliser]
    values = values_of(expected)
    counts = Counter(value for value in values if value is not None)
    rows = counts.total()
    assert (found["rows"], found["without_term"]) == (rows, len(values) - rows)
    assert found["distinct"] == len(counts)
    most = counts.most_common(1)[0][1]
    assert found["most_common_share"] == pytest.approx(most / rows)
    assert found["min_entropy_bits"] == pytest.approx(log2(rows) - log2(most), abs=1e-9)
    met = sum(Fraction(rows - counts[value], rows) for value in values if value is not None)
    widths = {int(bits): told for bits, told in found["false_positives"].items()}
    assert {4, 8, 16, 24, 32, 256} <= set(widths)
    assert widths == {bits: pytest.approx(float(met / 2**bits)) for bits in widths}
    assert found["advice"].startswith(expected.advice)


def test_the_width_that_is_advised_is_the_widest_that_leaves_a_term_two_others(
    reported: dict[tuple[str, str], dict[str, Any]],
) -> None:
    advised = [told for told in reported.values() if "else bits = " in told["advice"]]
    assert len(advised) == 3
    for told in advised:
        bits = int(told["advice"].rpartition(" ")[2])
        others = told["distinct"] - 1
        assert others / 2 ** (bits + 1) < 2 <= others / 2**bits
        assert told["false_positives"][str(bits)] <= told["rows"] ** 0.5


def test_the_stored_terms_of_a_truncated_index_meet_as_many_as_was_expected(
    folder: Path, reported: dict[tuple[str, str], dict[str, Any]]
) -> None:
    with closing(sqlite3.connect(folder / "health.db")) as connection:
        of_term = Counter(term for (term,) in connection.execute("SELECT email_rough_a FROM person_year"))
    of_person = Counter(record["person"] for record in records())
    assert len(of_term) <= 2**11
    met = sum(n**2 for n in of_term.values()) - sum(n**2 for n in of_person.values())
    assert met / of_person.total() == pytest.approx(reported["email", "casefold/1"]["false_positives"]["11"], rel=0.1)


def test_no_value_is_told(reported: dict[tuple[str, str], dict[str, Any]]) -> None:
    said = json.dumps(list(reported.values()))
    assert not [text for text in invented(next(records())["person"]) if text in said]
    assert all(isinstance(value, int | float | str | dict) for told in reported.values() for value in told.values())


def test_the_page_shows_what_the_command_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```console\n\$ noisevault (.*)\n((?:.*\n)*?)```", PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for words, shown in blocks:
        with pytest.raises(SystemExit) as stopped:
            main(words.split())
        assert not stopped.value.code
        assert capsys.readouterr().out.strip() == shown.strip()


def test_the_page_has_a_row_for_each_measured_column(reported: dict[tuple[str, str], dict[str, Any]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| ([\d, ]+) \| ([\d., %]+) \| (.*) \|$", page, re.MULTILINE)
    told = {column: figures for (column, normaliser), figures in reported.items() if normaliser != "domain/1"}
    named = [re.findall(r"`(\w+)`", columns) for columns, *_ in rows]
    assert sorted(column for columns in named for column in columns) == sorted(told)
    for columns, (_, distinct, shares, advice) in zip(named, rows, strict=True):
        counts, percents = distinct.split(", "), shares.split(", ")
        for at, column in enumerate(columns):
            figures = told[column]
            assert f"{figures['distinct']:,}" == counts[at % len(counts)]
            share = 100 * figures["most_common_share"]
            assert f"{share:.2f} %" == percents[at % len(percents)] or f"{share:.0f} %" == percents[at % len(percents)]
            if bits := re.search(r"[0-9]+ bits", advice):
                assert figures["advice"].endswith(f"bits = {bits[0].split()[0]}")
