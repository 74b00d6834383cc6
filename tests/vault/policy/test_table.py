from vault.policy import ColumnPolicy, TablePolicy

TABLE = TablePolicy(
    key=("id",),
    column={
        "id": ColumnPolicy(type="int"),
        "name": ColumnPolicy(type="str", sealed=True),
        "site": ColumnPolicy(type="int", nullable=False),
    },
)


def test_a_column_may_be_null_unless_it_is_a_key_or_says_so() -> None:
    assert [TABLE.nullable(name) for name in TABLE.column] == [False, True, False]


def test_a_policy_makes_no_values() -> None:
    assert not any(TABLE.is_made(name) for name in TABLE.column)


def test_a_table_knows_its_sealed_columns() -> None:
    assert TABLE.sealed == ("name",)


def test_an_index_compares_exactly_unless_it_says_how() -> None:
    column = ColumnPolicy.model_validate({"type": "str", "sealed": True, "index": {}})
    assert column.index is not None
    assert column.index.normalise == "exact"
