"""JSON form: a golden report of a hand-made log, as docs/report.md tells it."""

import json

from kms import KeyState
from tests.vault.reporting.entries import HOSTILE, NANO, asked, at, charge, key, lifetime, of_charge, policy, report
from vault.reporting.json_form import in_json
from vault.reporting.report import AuditState, KeyringsBeside

NOTHING = {"charges": 0, "epsilon": "0", "rho": "0", "delta": "0", "without_epsilon": 0}
LOG = [
    policy(at(6, 1), 3 * NANO),
    charge(at(6, 2), NANO),
    charge(at(7, 1), NANO // 2, "ben"),
    of_charge("answer", at(7, 1), "3"),
    charge(at(8, 3), 0, nano_rho=10**8, unbounded=1),
    asked("refusal", at(8, 4)),
    asked("repeat", at(8, 5), "ben"),
    {"kind": "epoch", "at": at(9, 2), "dataset": "visits", "epoch": 2, "reason": "a new year"},
    charge(at(10, 1), NANO),
]


def test_a_report_for_programs() -> None:
    told = json.loads(json.dumps(in_json(report(LOG, beside=KeyringsBeside(1, {"active": 2})))))
    weeks = told["log"]["datasets"][0].pop("weeks")
    assert weeks[0] == {"week": "2026-W27", "from": "2026-07-01"} | NOTHING | {
        "charges": 1,
        "epsilon": "0.5",
        "rho": "0.125",
    }
    assert [week["charges"] for week in weeks] == [1, 0, 0, 0, 0, 1, *[0] * 8]
    half = {"charges": 1, "epsilon": "0.5", "rho": "0.125", "delta": "0", "without_epsilon": 0}
    rho = {"charges": 1, "epsilon": "0", "rho": "0.1", "delta": "0", "without_epsilon": 1}
    none = {"epsilon": None, "delta": "0"}
    accounts = told["log"]["datasets"][0].pop("accounts")
    assert [(one["by"], one["quarter"], one["until_end"]) for one in accounts] == [
        ("sum of epsilon", none, none),
        ("sum of rho (zCDP)", none, none),
    ]
    assert told == {
        "format": "noisevault/1 report",
        "quarter": "2026Q3",
        "first_day": "2026-07-01",
        "last_day": "2026-09-30",
        "is_over": True,
        "made_at": "2026-10-02T09:30:00+00:00",
        "made_by": "noisevault 1",
        "audit": {"verified": True, "fault": None, "head": {"sequence": 7, "mac": "ab" * 32}},
        "log": {
            "datasets": [
                {
                    "dataset": "visits",
                    "epoch": 2,
                    "lifetime": {"epsilon": "3", "delta": "0", "question_delta": "0", "rho": None},
                    "before": {"charges": 1, "epsilon": "1", "rho": "0.5", "delta": "0", "without_epsilon": 0},
                    "spent": {"charges": 2, "epsilon": "0.5", "rho": "0.225", "delta": "0", "without_epsilon": 1},
                    "until_end": {"charges": 3, "epsilon": "1.5", "rho": "0.725", "delta": "0", "without_epsilon": 1},
                    "days": [{"day": "2026-07-01"} | half, {"day": "2026-08-03"} | rho],
                    "analysts": [
                        {"analyst": "ana"} | rho | {"repeats": 0, "refusals": 1},
                        {"analyst": "ben"} | half | {"repeats": 1, "refusals": 0},
                    ],
                    "scopes": [],
                    "refusals": {"budget exhausted": 1},
                    "repeats": 1,
                    "unanswered": [{"cause": None} | rho | {"entries": [5]}],
                }
            ],
            "shared": [],
            "changes": [
                {
                    "entry": 8,
                    "at": "2026-09-02T12:00:00+00:00",
                    "kind": "epoch",
                    "dataset": "visits",
                    "reason": "a new year",
                    "members": {"epoch": 2},
                }
            ],
            "entries": {"answer": 1, "charge": 2, "epoch": 1, "refusal": 1, "repeat": 1},
            "events": {},
            "later_entries": 1,
            "begins_at": "2026-06-01T12:00:00+00:00",
        },
        "keyring": "main",
        "keys": [
            {
                "key_id": "01020304",
                "purpose": "data",
                "sequence": 1,
                "state": "active",
                "made_at": "2026-03-16T09:30:00+00:00",
                "state_since": "2026-03-16T09:30:00+00:00",
                "destroy_after": None,
                "most_seals": 300,
                "rows": 5,
                "counted_at": "2026-10-02T09:30:00+00:00",
            }
        ],
        "other_keyrings": {"keyrings": 1, "keys": {"active": 2}},
        "due": [{"step": "verify", "scope": "visit", "why": "was never verified", "fault": False}],
    }


def test_a_log_that_is_not_whole_has_a_fault_and_no_head() -> None:
    told = in_json(report(audit=AuditState(0, "", "entry 3"), log=None))
    assert told["audit"] == {"verified": False, "fault": "entry 3", "head": None}
    assert told["log"] is None
    assert in_json(report(audit=None, log=None))["audit"] is None


def test_names_are_as_they_are() -> None:
    told = in_json(report([charge(at(7, 1), 1, who=name) for name in HOSTILE]))
    assert {one["analyst"] for one in told["log"]["datasets"][0]["analysts"]} == set(HOSTILE)


def test_a_key_that_waits_says_until_when() -> None:
    told = in_json(report(keys=(key(KeyState.RETIRED, rows=None, counted_at=None),)))["keys"][0]
    assert (told["destroy_after"], told["rows"], told["counted_at"]) == ("2026-10-02T09:30:00+00:00", None, None)


def test_budgets_and_shared_lifetimes_are_told() -> None:
    scopes = [["column", "age", "month", NANO]]
    entries = [
        policy(at(6, 1), NANO) | {"scopes": scopes},
        lifetime(at(7, 1), 2 * NANO, "visits"),
        charge(at(7, 1), 5, scopes=[["column", "age", "month", 0, 4]]),
    ]
    told = in_json(report(entries))["log"]
    scope = {"kind": "column", "subject": "age", "span": "month", "cap": "1", "charges": 1, "epsilon": "0.000000004"}
    assert told["datasets"][0]["scopes"] == [scope]
    (shared,) = told["shared"]
    assert (shared["name"], shared["datasets"], shared["spent"]["charges"]) == ("all", ["visits"], 1)
    assert shared["lifetime"]["epsilon"] == "2"
