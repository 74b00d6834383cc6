"""Any expression and any comparison that can be written, as Hypothesis strategies."""

from decimal import Decimal

from hypothesis import strategies as st

from vault.expression import Call, Case, Column, Comparison, Number, Operation, Test
from vault.expression.comparison import OPERATORS
from vault.expression.form import negated

# Keywords are columns too, where the grammar expects a column.
names = st.sampled_from(["a", "b", "B", "site", "where", "and", "by", "in", "count", "between", "_x1", "case", "min"])
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
floats = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False).map(repr))
literals = floats.map(lambda value: Number(Decimal(value)))
leaves = names.map(Column) | literals


def larger(of):  # type: ignore[no-untyped-def]
    relations = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    conditions = st.one_of(
        st.builds(Test, of, relations, of),
        st.builds(lambda c, o, v: Comparison(c, o, (v,)), names, st.sampled_from(["=", "!=", "<"]), texts),
        st.builds(lambda c, v: Comparison(c, "in", tuple(v)), names, st.lists(texts, min_size=1, max_size=3)),
        st.builds(
            lambda c, v: Comparison(c, "in", tuple(one.value for one in v)),
            names,
            st.lists(literals, min_size=2, max_size=3, unique=True),
        ),
    )
    branches = st.tuples(st.lists(conditions, min_size=1, max_size=2).map(tuple), of)
    return st.one_of(
        of.map(negated),
        st.builds(Operation, st.sampled_from(["+", "-", "*", "/"]), of, of),
        of.map(lambda one: Call("abs", (one,))),
        st.builds(
            lambda f, a: Call(f, tuple(a)), st.sampled_from(["min", "max"]), st.lists(of, min_size=2, max_size=3)
        ),
        st.builds(lambda b, e: Case(tuple(b), e), st.lists(branches, min_size=1, max_size=2), st.none() | of),
    )


expressions = st.recursive(leaves, larger, max_leaves=8)
