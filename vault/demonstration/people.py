"""Made-up people: a name, an e-mail address and an identity number for each person id, always the same."""

import csv
import gzip
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from io import TextIOWrapper
from pathlib import Path
from typing import Final

FIRST: Final = ("Ada", "Boris", "Chloé", "Dušan", "Emi", "Farid", "Grażyna", "Hugo", "Inés", "Jürgen", "Kemal", "Linh")
LAST: Final = ("Almeida", "Brandt", "Černý", "Dubois", "Eriksen", "Fontana", "García", "Horváth", "Ito", "Jensen")
INVENTED: Final = ("name", "email", "national_id")


def records() -> Iterator[dict[str, str]]:
    """The rows of the RAND Health Insurance Experiment as text, by column."""
    with files("vault.demonstration").joinpath("rand_hie.csv.gz").open("rb") as packed, gzip.open(packed) as plain:
        yield from csv.DictReader(TextIOWrapper(plain, encoding="utf-8", newline=""))


def invented(person: str) -> tuple[str, str, str]:
    """Name, e-mail address and identity number of a person id. Nobody real has them: example.org, prefix 999."""
    digest = hashlib.sha256(f"made-up person {person}".encode()).digest()
    first, last = FIRST[digest[0] % len(FIRST)], LAST[digest[1] % len(LAST)]
    return f"{first} {last}", f"Person.{person}@Example.org", f"999-{int(person):07d}"


def write_csv(path: Path) -> None:
    """The real records with the made-up columns beside them, as a file to import."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = None
        for record in records():
            row = record | dict(zip(INVENTED, invented(record["person"]), strict=True))
            if writer is None:
                writer = csv.DictWriter(out, row)
                writer.writeheader()
            writer.writerow(row)
