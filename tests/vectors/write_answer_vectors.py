"""Writes the vectors of released answers as the ledger stores them, before they are sealed.

Run it as `python tests/vectors/write_answer_vectors.py`. It shares no code with dp. Its output is the stored format: a
difference means that a ledger's answers can no longer be read, and that who asks again is charged again.
"""

import json
from pathlib import Path
from typing import Any

LAPLACE = {"mechanism": "discrete Laplace", "interval": "noise only, 95 %"}
RANK = "rows of rank, noise only, 95 %"


def stored(members: dict[str, Any], **changed: Any) -> str:
    everything = {"format": "noisevault/1 answer", "delta": 0, **LAPLACE, **members, **changed}
    return json.dumps(everything, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


COUNT = {
    "question": "COUNT(*)",
    "nano_epsilon": 10**9,
    "caps": {"rows": 2, "groups": 1},
    "noise": [["count", "2/1", 10**9]],
    "groups": [[0, "-3/1", "-9/1", "3/1", []]],
}
MEAN = {
    "question": "MEAN(income) where city = 'Žilina'",
    "nano_epsilon": 7,
    "caps": {"rows": 1, "groups": 2},
    "noise": [["deviations", "1/3", 3], ["count", "500000000/1", 4]],
    "groups": [[0, "7/2", "0/1", "10/1", [["sum", "-7/10"], ["count", "-2/1"]]], [1, "0/1", "0/1", "10/1", []]],
}
GAUSSIAN = {
    "question": "COUNT(*)",
    "nano_epsilon": None,
    "nano_rho": 5 * 10**8,
    "mechanism": "discrete Gaussian",
    "caps": {"rows": 1, "groups": 1},
    "noise": [["count", "1/1", None, 5 * 10**8]],
    "groups": [[0, "12/1", "10/1", "14/1", []]],
}
MEDIAN = {
    "question": "MEDIAN(age)",
    "nano_epsilon": 10**9,
    "mechanism": "permute-and-flip",
    "interval": RANK,
    "caps": {"rows": 1, "groups": 1},
    "noise": [["quantile 1/2", "1/1", 10**9]],
    "groups": [[0, "41/1", "-8/1", "8/1", []]],
}
LARGEST = {
    "question": "TOP 2",
    "nano_epsilon": 10**9,
    "mechanism": "permute-and-flip, discrete Laplace",
    "caps": {"rows": 1, "groups": 1},
    "noise": [["choice", "4/1", 5 * 10**8], ["count", "2/1", 5 * 10**8]],
    "groups": [[3, "44/1", "38/1", "50/1", []], [1, "47/1", "41/1", "53/1", []]],
}
UNDECLARED = {
    "question": "UNITS by surname",
    "nano_epsilon": 10**9,
    "delta": 10**12,
    "mechanism": "discrete Laplace, told from 15 on",
    "caps": {"rows": 1, "groups": 1},
    "noise": [["units", "1/1", 10**9]],
    "groups": [[0, "19/1", "16/1", "22/1", [], ""], [1, "15/1", "12/1", "18/1", [], "c5bd6f"]],
}
VALID = [
    ("a count", COUNT),
    ("parts, two groups and letters beyond ASCII", MEAN),
    ("Gaussian noise has a rho and no epsilon", GAUSSIAN),
    ("a quantile has an interval of ranks", MEDIAN),
    ("the largest groups in the order they were chosen", LARGEST),
    ("keys of groups that nobody declared, in hexadecimal digits", UNDECLARED),
]
INVALID = [
    ("members in another order", stored(COUNT).replace('"caps":{"groups":1,"rows":2}', '"caps":{"rows":2,"groups":1}')),
    ("a blank", stored(COUNT).replace('"delta":0', '"delta": 0')),
    ("a fraction that is not in lowest terms", stored(COUNT, noise=[["count", "4/2", 10**9]])),
    ("no denominator", stored(COUNT, noise=[["count", "2", 10**9]])),
    ("another format", stored(COUNT, format="noisevault/2 answer")),
    ("a member that has no meaning", stored(COUNT, more=1)),
    ("a member is missing", stored({name: COUNT[name] for name in COUNT if name != "caps"})),
    ("rho is left out where there is none", stored(COUNT, nano_rho=None)),
    ("a cap of 0", stored(COUNT, caps={"rows": 0, "groups": 1})),
    ("a key in upper case", stored(UNDECLARED).replace("c5bd6f", "C5BD6F")),
    ("letters beyond ASCII as they are", stored(MEAN).replace("\\u017d", "Ž")),
    ("bytes after the end", stored(COUNT) + "\n"),
]


def vectors() -> dict[str, Any]:
    tests: list[dict[str, Any]] = []
    for comment, members in VALID:
        tests.append({"comment": comment, "result": "valid", "members": members, "stored": stored(members)})
    for comment, bytes_ in INVALID:
        tests.append({"comment": comment, "result": "invalid", "error": "AnswerFormatError", "stored": bytes_})
    return {
        "format": "noisevault/1 answer",
        "source": "computed by write_answer_vectors.py from docs/formats.md, section 12, not by dp",
        "tests": [{"tcId": place, **test} for place, test in enumerate(tests, 1)],
    }


if __name__ == "__main__":
    path = Path(__file__).with_name("answer.json")
    path.write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n")
