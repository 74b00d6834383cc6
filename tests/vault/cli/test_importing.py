import json
from pathlib import Path

import pytest

from tests.vault.cli.conftest import CSV, Run
from tests.vault.projects import write_policy

SECRET = "Zx9-Secret"


@pytest.fixture
def ready(run: Run, tmp_path: Path) -> Run:
    write_policy(tmp_path)
    assert run("init").status == 0
    return run


def test_a_file_is_imported_and_empty_and_quoted_empty_cells_differ(loaded: Run) -> None:
    rows = loaded("show", "--json").out.splitlines()
    assert len(rows) == 4
    assert '"diagnosis": ""' in rows[2]
    assert '"diagnosis": null' in rows[3]


def test_k15_01_a_byte_order_mark_is_no_part_of_the_first_header(ready: Run, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode())
    assert ready("import", "f.csv").status == 0


def test_k16_01_leading_zeros_are_stored_as_typed(ready: Run, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text('person,year,national_id\n1,1,00501\n2,1,"0044 20"\n3,1,007\n4,1,1e5\n')
    assert ready("import", "f.csv").status == 0
    assert '"national_id": "00501"' in ready("find", "national_id", "00501", "--json").out
    assert ready("find", "national_id", "501").status == 1
    assert '"1e5"' in ready("show", "--json").out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (CSV + f"4,1,1,44-4,gout,{SECRET}\n", ("line 6", "spending", "number")),
        (CSV + f"{SECRET},1,1,44-4,gout,1\n", ("line 6", "person", "whole number")),
        (CSV + f"4,1,1,44-4,{SECRET}\n", ("line 6", "5")),
        (CSV + f"4,1,1,44-4,{SECRET},1,2\n", ("line 6", "7")),
        (CSV.replace("site", "nobody"), ("line 1", "column 3")),
        (CSV.replace("diagnosis", "site"), ("site",)),
        (CSV.replace("person", ""), ("column 1", "no name")),
        ("", ("empty",)),
        (CSV.replace(",", ";"), ("delimiter",)),
        (CSV + f"1,1,1,{SECRET},gout,1\n", ("visit", "lines 2 to 6", "key")),
    ],
    ids=["type", "key type", "short", "long", "unknown", "twice", "no name", "empty", "semicolons", "duplicate key"],
)
def test_a_file_with_a_fault_is_refused_whole(ready: Run, tmp_path: Path, content: str, told: tuple[str, ...]) -> None:
    (tmp_path / "f.csv").write_text(content, encoding="utf-8")
    refused = ready("import", "f.csv")
    assert refused.status == 1
    assert refused.err.count("\n") == 1
    for word in told:
        assert word in refused.err
    assert SECRET not in refused.err + refused.out
    assert ready("show", "--json").out == ""


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_refused(ready: Run, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "f.csv").write_text(CSV.replace("gout", "goût"), encoding=encoding)
    refused = ready("import", "f.csv")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "UTF-8" in refused.err


@pytest.mark.parametrize("typed", ["\t", "\\t"])
def test_a_tab_is_typed_as_the_refusal_shows_it(ready: Run, tmp_path: Path, typed: str) -> None:
    (tmp_path / "f.tsv").write_text(CSV.replace(",", "\t"), encoding="utf-8")
    assert r"'\t'" in ready("import", "f.tsv", "--delimiter", "tab").err
    assert ready("import", "f.tsv", "--delimiter", typed).status == 0


def test_a_file_that_is_not_there_is_one_line(ready: Run) -> None:
    refused = ready("import", "nobody.csv")
    assert (refused.status, refused.err.count("\n")) == (1, 1)


def test_k02_01_k02_03_dates_decimals_and_truth_come_back_as_they_were_written(run: Run, tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    text = policy.read_text(encoding="utf-8")
    for name, kind in (("paid", "decimal"), ("born", "date"), ("seen", "datetime"), ("insured", "bool")):
        few = "low_entropy = true" if kind == "bool" else ""
        text = text.replace(
            "\nspending = {",
            f'\n{name} = {{ type = "{kind}", sealed = true, bind = ["person"], index = {{ {few} }} }}\nspending = {{',
        )
    policy.write_text(text, encoding="utf-8")
    assert run("init").status == 0
    (tmp_path / "f.csv").write_text(
        "person,year,paid,born,seen,insured\n1,1,0.500,0001-01-01,2031-03-30T02:30:00.000001+05:45,true\n2,1,,,,\n"
    )
    assert run("import", "f.csv").status == 0
    whole = '"paid": "0.500", "born": "0001-01-01", "seen": "2031-03-30 02:30:00.000001+05:45", "insured": true'
    for column, value in (
        ("paid", "0.5"),
        ("born", "0001-01-01"),
        ("seen", "2031-03-29T20:45:00.000001Z"),
        ("insured", "true"),
    ):
        found = run("find", column, value, "--json").out
        members = dict(part.split(": ", 1) for part in whole.split(", "))
        assert all(f"{name}: {text}" in found for name, text in members.items()), found
        assert '"person": 1' in found


POLICY_OF_CONTACTS = """
[vault]
database = "sqlite:///application.db"
keys = "sqlite:///keys.db"
kek = "local:kek"

[table.contact]
key = ["id"]
[table.contact.column]
id = { type = "int" }
mail = { type = "str", sealed = true, index = { normalise = "email" } }
name = { type = "str", sealed = true, index = { normalise = "casefold" } }
"""


def test_k03_03_what_was_imported_is_found_in_any_case(run: Run, tmp_path: Path) -> None:
    """White space at the ends counts where the normaliser does not trim, and is kept as it was."""
    (tmp_path / "noisevault.toml").write_text(POLICY_OF_CONTACTS)
    (tmp_path / "f.csv").write_text(
        'id,mail,name\n1,Ana.Maria@Mail.EXAMPLE,ANA\n2," ana.maria@MAIL.example "," ana "\n'
    )
    assert run("init").status == 0
    assert run("import", "f.csv").status == 0
    for asked in ("ana.maria@mail.example", " Ana.Maria@mail.example "):
        found = run("find", "mail", asked, "--json").out.splitlines()
        assert [json.loads(line)["mail"] for line in found] == ["Ana.Maria@Mail.EXAMPLE", " ana.maria@MAIL.example "]
    for asked, name in (("ana", "ANA"), (" Ana ", " ana ")):
        (line,) = run("find", "name", asked, "--json").out.splitlines()
        assert json.loads(line)["name"] == name
