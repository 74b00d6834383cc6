from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select

from vault.key_order import after_key

TABLE = Table(
    "t",
    MetaData(),
    Column("a", Integer, primary_key=True, autoincrement=False),
    Column("b", Integer, primary_key=True, autoincrement=False),
)
KEYS = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.sets(KEYS, min_size=1), KEYS)
def test_what_comes_after_a_key_is_what_sorts_after_it(keys: set[tuple[int, int]], last: tuple[int, int]) -> None:
    engine = create_engine("sqlite://")
    TABLE.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(TABLE), [{"a": a, "b": b} for a, b in keys])
        statement = select(TABLE).where(after_key(TABLE.primary_key.columns, last)).order_by(TABLE.c.a, TABLE.c.b)
        found = [(row.a, row.b) for row in connection.execute(statement)]
    engine.dispose()
    assert found == sorted(key for key in keys if key > last)
