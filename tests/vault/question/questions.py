"""Any question that can be asked, as Hypothesis strategies."""

from decimal import Decimal

from hypothesis import strategies as st

from vault.question import Comparison, Question
from vault.question.form import OPERATORS

# Keywords are columns too, where the grammar expects a column.
names = st.sampled_from(["a", "b", "B", "site", "where", "and", "by", "in", "count", "between", "_x1"])
numbers = st.one_of(
    st.integers(-(2**70), 2**70).map(Decimal),
    st.decimals("-1e20", "1e20", places=6),
    st.builds(lambda d, e: Decimal(d).scaleb(e), st.integers(-99, 99), st.integers(-390, 390)),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
comparisons = st.one_of(
    st.builds(lambda c, o, v: Comparison(c, o, (v,)), names, st.sampled_from(OPERATORS), numbers | texts),
    st.builds(lambda c, v: Comparison(c, "in", tuple(v)), names, st.lists(numbers, min_size=1, max_size=4)),
    st.builds(lambda c, v: Comparison(c, "in", tuple(v)), names, st.lists(texts, min_size=1, max_size=4)),
)
questions = st.builds(
    lambda head, where, by: Question(head[0], head[1], tuple(where), tuple(by)),
    st.one_of(st.just(("count", None)), st.tuples(st.sampled_from(["sum", "mean"]), names)),
    st.lists(comparisons, max_size=4),
    st.lists(names, max_size=3),
)
