import pytest
from sqlalchemy import String, cast, desc, select, tuple_, update

from tests.vault.mapping.clinic import Person
from vault.errors import SealedColumnError
from vault.mapping.refusal import refuse

P = Person.__table__


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("DISTINCT", "DISTINCT: .*leave it out"),
        ("UNION ALL with another column", "a column of its own"),
        ("text().columns()", "mapped column"),
        (desc(P.c.id), "sort or group in Python"),
        (select(P.c.id), "sort or group in Python"),
        (cast(P.c.id, String), "a cast: select the column itself"),
        (tuple_(P.c.id), "one by one"),
        (P.c.id == P.c.name, "on the left of =="),
        (update(P), "a value that is written"),
        (P.c.id, "compute in Python"),
    ],
)
def test_every_refusal_names_the_column_the_place_and_the_remedy(place: object, words: str) -> None:
    with pytest.raises(SealedColumnError, match=rf"^person\.ssn is sealed and cannot stand in .*{words}"):
        refuse(P.c.ssn, place)
