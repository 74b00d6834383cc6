"""After the whole path, no byte on disk and no line that was printed or logged holds a sealed value."""

import base64
import logging
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.vault.cli.conftest import Ended, Run
from tests.vault.projects import write_policy

NAMES = ("Zebra-Diagnosis-½", "Quagga-Diagnosis-¾")
NUMBERS = ("77-31415926", "77-27182818")
SPENDING = (31.40625, 27.1875)


PAGE = 4096


def spellings() -> Iterator[bytes]:
    """Every sealed value in the forms that a careless path would leave."""
    for value in (*NAMES, *NUMBERS, *(number.replace("-", "") for number in NUMBERS)):
        raw = value.encode()
        yield from (raw, value.encode("utf-16-le"), raw.hex().encode(), raw.hex().upper().encode())
        yield base64.b64encode(raw)[: len(raw) // 3 * 4]
        yield value.encode("ascii", "backslashreplace")
    for number in SPENDING:
        yield from (struct.pack("<d", number), struct.pack(">d", number), str(number).encode())


def assert_clear_of_values(folder: Path) -> int:
    """Look through all files below a folder; returns how many bytes were looked at."""
    looked_at = 0
    for file in (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".csv"):
        whole = file.read_bytes()
        looked_at += len(whole)
        pages = (whole[at : at + PAGE] for at in range(0, len(whole), PAGE))
        content = b"".join(page for page in pages if page.strip(b"\0"))  # most of a server's files are nothing yet
        found = [one for one in spellings() if one in content]
        assert not found, f"{file.name} holds a value in the clear"
    return looked_at


def write_csv(path: Path) -> None:
    rows = [f"{i},1,1,{NUMBERS[i % 2]},{NAMES[i % 2]},{SPENDING[i % 2]}" for i in range(40)]
    path.write_text("person,year,site,national_id,diagnosis,spending\n" + "\n".join(rows) + "\n", encoding="utf-8")


def whole_path(run: Run) -> list[Ended]:
    """Every command once, with some that are refused."""
    return [
        run("init"),
        run("import", "visits.csv"),
        run("import", "visits.csv"),
        run("find", "national_id", NUMBERS[0], "--json"),
        run("find", "diagnosis", NAMES[0]),
        run("show", "--raw"),
        run("rotate"),
        run("reencrypt"),
        run("ask", f"count(*) where diagnosis = '{NAMES[0]}' by site", "--epsilon", "0.5", "--json"),
        run("ask", f"sum(spending) where spending >= {SPENDING[0]}", "--epsilon", "0.5", "--json"),
        run("ask", f"mean(spending) where diagnosis = '{NAMES[1]}'", "--epsilon", "0.5"),
        run("budget"),
        run("check"),
        run("keys", "list"),
    ]


def assert_said_nothing(ended: list[Ended], caplog: pytest.LogCaptureFixture) -> None:
    errors = "\n".join(one.err for one in ended) + caplog.text
    for one in (*NAMES, *NUMBERS, *map(str, SPENDING)):
        assert one not in errors
    assert [one.status for one in ended] == [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]


def test_no_byte_on_disk_holds_a_sealed_value_on_sqlite(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    write_policy(tmp_path)
    write_csv(tmp_path / "visits.csv")
    assert_said_nothing(whole_path(run), caplog)
    assert assert_clear_of_values(tmp_path) > 40_000


def write_policy_of_one_database(tmp_path: Path, url: str) -> None:
    policy = write_policy(tmp_path, url)
    lines = [line for line in policy.read_text().splitlines() if not line.startswith(("keys =", "ledger ="))]
    policy.write_text("\n".join(lines))


@pytest.mark.postgres
def test_no_byte_on_disk_holds_a_sealed_value_on_postgres(
    run: Run, tmp_path: Path, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    write_policy_of_one_database(tmp_path, postgres_url)
    write_csv(tmp_path / "visits.csv")
    assert_said_nothing(whole_path(run), caplog)
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CHECKPOINT"))
        data = Path(str(connection.scalar(text("SHOW data_directory"))))
    assert assert_clear_of_values(data) > 1_000_000


@pytest.mark.mariadb
def test_no_byte_on_disk_holds_a_sealed_value_on_mariadb(
    run: Run, tmp_path: Path, mariadb_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    write_policy_of_one_database(tmp_path, mariadb_url)
    write_csv(tmp_path / "visits.csv")
    assert_said_nothing(whole_path(run), caplog)
    engine = create_engine(mariadb_url)
    with engine.connect() as connection:
        connection.execute(text("FLUSH TABLES visit FOR EXPORT"))
        data = Path(str(connection.scalar(text("SELECT @@datadir"))))
        database = str(connection.scalar(text("SELECT database()")))
        connection.execute(text("UNLOCK TABLES"))
        assert (data / database / "visit.ibd").stat().st_size > 50_000
    assert assert_clear_of_values(data) > 1_000_000


def test_the_search_itself_finds_what_it_looks_for(tmp_path: Path) -> None:
    for number, spelling in enumerate(spellings()):
        (tmp_path / "leak").write_bytes(b"\x00" * number + spelling + b"\x00")
        with pytest.raises(AssertionError):
            assert_clear_of_values(tmp_path)
