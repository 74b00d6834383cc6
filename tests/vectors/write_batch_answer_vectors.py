"""Writes the vectors of the answers of a batch as the ledger stores them, before they are sealed.

Run it as `python -m tests.vectors.write_batch_answer_vectors`. It shares no code with dp. Its output is the stored
format: a difference means that a ledger's batches can no longer be read, and that who asks again is charged again.
"""

import json
from pathlib import Path
from typing import Any

from tests.vectors.write_answer_vectors import COUNT, GAUSSIAN, MEAN, UNDECLARED, stored

CHARGED = {"nano_epsilon": 10**9 + 7, "nano_rho": 5 * 10**8 + 1, "delta": 0}


def batch(answers: list[dict[str, Any]], **changed: Any) -> str:
    each = [json.loads(stored(members)) for members in answers]
    everything = {"format": "noisevault/1 answers", "answers": each, **CHARGED, **changed}
    return json.dumps(everything, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


TWO = batch([COUNT, MEAN])
VALID = [
    ("two, in the order of their questions", TWO, ["COUNT(*)", "MEAN(income) where city = 'Žilina'"]),
    ("one", batch([COUNT]), ["COUNT(*)"]),
    ("one without an epsilon, so all of them", batch([GAUSSIAN], nano_epsilon=None), ["COUNT(*)"]),
    ("a delta", batch([COUNT, UNDECLARED], delta=10**12), ["COUNT(*)", "UNITS by surname"]),
]
INVALID = [
    ("none", batch([])),
    ("in another order", batch([MEAN, COUNT])),
    ("the same question twice", batch([COUNT, COUNT])),
    ("one answer alone", stored(COUNT)),
    ("another format", batch([COUNT], format="noisevault/2 answers")),
    ("an answer of another format", TWO.replace('noisevault/1 answer"', 'noisevault/2 answer"')),
    ("a member that has no meaning", batch([COUNT], more=1)),
    ("a price of nothing", batch([COUNT], nano_rho=0)),
    ("a delta of 1", batch([COUNT], delta=10**18)),
    ("a blank", TWO.replace('"delta":0', '"delta": 0')),
    ("a fraction that is not in lowest terms", TWO.replace("2/1", "4/2")),
    ("bytes after the end", TWO + "\n"),
]  # fmt: skip


def vectors() -> dict[str, Any]:
    tests: list[dict[str, Any]] = []
    for comment, bytes_, questions in VALID:
        tests.append({"comment": comment, "result": "valid", "questions": questions, "stored": bytes_})
    for comment, bytes_ in INVALID:
        tests.append({"comment": comment, "result": "invalid", "error": "AnswerFormatError", "stored": bytes_})
    return {
        "format": "noisevault/1 answers",
        "source": "computed by write_batch_answer_vectors.py from docs/formats.md, section 12, not by dp",
        "tests": [{"tcId": place, **test} for place, test in enumerate(tests, 1)],
    }


if __name__ == "__main__":
    path = Path(__file__).with_name("answers.json")
    path.write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n")
