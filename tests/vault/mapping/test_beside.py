"""The neighbour of an expression in its own row."""

from sqlalchemy import literal, select, union_all

from tests.vault.mapping.clinic import Income, Person
from vault.mapping.beside import beside, plain_column

T = Income.__table__
P = Person.__table__


def test_in_a_table_and_its_alias_the_neighbour_is_the_column() -> None:
    alias = T.alias()
    assert beside(T.c.amount, T.c.person) is T.c.person
    assert beside(T.c.amount.label("x"), T.c.person) is T.c.person
    assert beside(alias.c.amount, T.c.person) is alias.c.person


def test_in_a_subquery_the_neighbour_may_have_another_name() -> None:
    query = select(T.c.amount.label("a"), T.c.person.label("p")).subquery()
    again = select(query.c.a.label("b"), query.c.p.label("q")).cte()
    assert beside(query.c.a, T.c.person) is query.c.p
    assert beside(again.c.b, T.c.person) is again.c.q
    assert beside(again.alias().c.b, T.c.person) is not None


def test_of_two_occurrences_of_a_table_the_neighbour_is_of_the_same() -> None:
    one, other = T.alias(), T.alias()
    query = select(one.c.person.label("p1"), other.c.person.label("p2"), other.c.amount).subquery()
    assert beside(query.c.amount, T.c.person) is query.c.p2
    alone = select(one.c.person, other.c.amount).subquery()
    assert beside(alone.c.amount, T.c.person) is None


def test_of_a_union_every_part_must_have_it_in_one_place() -> None:
    both = union_all(select(T.c.amount, T.c.person), select(T.c.amount, T.c.person)).subquery()
    assert beside(both.c.amount, T.c.person) is both.c.person
    named = union_all(select(T.c.amount.label("a"), T.c.person.label("p")), select(T.c.amount, T.c.person)).subquery()
    assert beside(named.c.a, T.c.person) is named.c.p
    crossed = union_all(select(T.c.amount, T.c.person), select(T.c.amount, literal("p"))).subquery()
    assert beside(crossed.c.amount, T.c.person) is None


def test_where_there_is_no_row_there_is_no_neighbour() -> None:
    assert beside(literal(1), T.c.person) is None
    assert beside(select(T.c.amount).scalar_subquery(), T.c.person) is None
    assert beside(select(T.c.amount).subquery().c.amount, T.c.person) is None
    assert beside(P.c.name, T.c.person) is None
    assert plain_column(literal(1)) is None
