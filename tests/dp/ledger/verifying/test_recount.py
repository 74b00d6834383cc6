"""Counting anew from the entries alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dp.ledger.verifying.recount import Recount, with_unsaid

charges = st.fixed_dictionaries(
    {
        "kind": st.just("charge"),
        "dataset": st.sampled_from(["a", "b"]),
        "nano_epsilon": st.integers(1, 10**12),
        "nano_rho": st.integers(1, 10**12),
        "atto_delta": st.integers(0, 10**6),
        "unbounded": st.integers(0, 1),
    }
)
others = st.fixed_dictionaries({"kind": st.sampled_from(["answer", "repeat", "refusal", "unreleased"])})


def _policy(dataset: str, lifetime: int) -> dict[str, object]:
    return {
        "kind": "policy",
        "dataset": dataset,
        "lifetime_nano_epsilon": lifetime,
        "lifetime_atto_delta": 7,
        "question_atto_delta": 3,
        "lifetime_nano_rho": 5,
    }


@settings(deadline=None)
@given(st.lists(charges | others, max_size=20))
def test_only_charges_count_and_each_for_its_own_dataset(entries: list[dict[str, object]]) -> None:
    recount = Recount()
    for entry in (
        _policy("a", 5),
        _policy("b", 6),
        *entries,
        _policy("a", 7),
        {"kind": "epoch", "dataset": "b", "epoch": 2},
    ):
        recount.add(with_unsaid(dict(entry)))
    for dataset, lifetime, epoch in (("a", 7, 1), ("b", 6, 2)):
        counters = recount.budgets[dataset]
        assert (counters["lifetime_nano_epsilon"], counters["epoch"]) == (lifetime, epoch)
        assert (counters["question_atto_delta"], counters["lifetime_nano_rho"]) == (3, 5)
        for unit in ("nano_epsilon", "nano_rho", "atto_delta", "unbounded"):
            mine = [entry[unit] for entry in entries if entry.get("dataset") == dataset]
            assert counters[f"spent_{unit}"] == sum(mine)  # type: ignore[arg-type]
