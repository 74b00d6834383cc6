"""Any question that can be asked, as Hypothesis strategies."""

from hypothesis import strategies as st

from tests.vault.expression.expressions import comparisons, expressions, names
from vault.expression import Column
from vault.question import Question

levels = st.lists(st.decimals("0.0001", "0.9999", places=4), min_size=1, max_size=4)
heads = st.one_of(
    st.sampled_from(["count", "count_units"]).map(lambda aggregate: {"aggregate": aggregate}),
    st.builds(lambda name: {"aggregate": "count_distinct", "of": Column(name)}, names),
    st.builds(
        lambda aggregate, of: {"aggregate": aggregate, "of": of},
        st.sampled_from(["sum", "mean", "variance", "std", "histogram"]),
        names.map(Column) | expressions,
    ),
    st.builds(lambda of, at: {"aggregate": "quantile", "of": of, "levels": tuple(at)}, expressions, levels),
)
questions = st.one_of(
    st.builds(
        lambda head, where, by: Question(**head, where=tuple(where), by=tuple(by)),
        heads,
        st.lists(comparisons, max_size=4),
        st.lists(names, max_size=3),
    ),
    st.builds(
        lambda first, where, by: Question("top", where=tuple(where), by=tuple(by), first=first),
        st.integers(1, 1000),
        st.lists(comparisons, max_size=4),
        st.lists(names, min_size=1, max_size=3),
    ),
)
