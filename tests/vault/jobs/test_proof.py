from sqlalchemy import create_engine

from tests.vault.jobs.plain_work import Capitals, write_notes
from vault.jobs.proof import MOST_REASONS, OTHERS, prove
from vault.jobs.walking.key_range import KeyRange


def test_it_counts_rows_and_says_why_also_in_a_part_of_the_table(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["A", "b", "b", "C", "d"])
    proof = prove(engine, Capitals())
    assert (proof.remaining, proof.reasons) == (3, (("body", "is not capitals", 3),))
    assert prove(engine, Capitals(), KeyRange((1,), (3,))).remaining == 1
    assert prove(engine, Capitals(), KeyRange((4,))).remaining == 0


class EachForItself(Capitals):
    def unfinished(self, group: object) -> dict[str, str]:
        return {"body": f"is {group['body']}"}  # type: ignore[index]


def test_reasons_without_number_are_told_together() -> None:
    engine = create_engine("sqlite://")
    write_notes(engine, [str(at) for at in range(3 * MOST_REASONS)])
    proof = prove(engine, EachForItself())
    assert proof.remaining == 3 * MOST_REASONS
    assert len(proof.why) == MOST_REASONS + 1
    assert proof.why["body", OTHERS] == 2 * MOST_REASONS
    engine.dispose()
