"""Guard: looks once at each compiled statement for a sealed column where only a plain one can stand.

It allows a sealed column as a result column, in IS NULL, in count(), and as what DML sets or returns; anywhere
else it refuses before anything is sent. It walks the statement as the ORM expanded it.
"""

# ruff: noqa: SLF001  # the parts of statements have no public names: sqlalchemy<2.2 is pinned, and tests read each

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Delete, Insert, Table, Update
from sqlalchemy.dialects.postgresql.ext import DistinctOnClause
from sqlalchemy.orm.util import LoaderCriteriaOption
from sqlalchemy.sql import functions, operators
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BindParameter,
    Case,
    ClauseElement,
    ColumnClause,
    ColumnElement,
    Grouping,
    Label,
    Null,
    Over,
    Tuple,
)
from sqlalchemy.sql.lambdas import LambdaElement
from sqlalchemy.sql.selectable import CompoundSelect, Exists, ScalarSelect, Select, TextualSelect
from sqlalchemy.sql.visitors import HasTraverseInternals, iterate

from vault.errors import SealedColumnError
from vault.mapping.ask_by_mode import AskByMode, JoinByMode
from vault.mapping.plaintext_column import is_plaintext
from vault.mapping.refusal import refuse, refuse_plaintext
from vault.mapping.sealed_column import Declaration
from vault.mapping.table_plan import plan_of
from vault.mapping.term_column import is_as_stored
from vault.mapping.term_type import AskedTermType, Term

__all__ = ["touches_sealed"]

_UNION_ALL = "UNION ALL"
_ON_CONFLICT = ("on_conflict_do_update", "on_conflict_do_nothing", "on_duplicate_key_update")
_HIDDEN_FROM_WALK = (
    "_raw_columns",
    "_from_obj",
    "_correlate",
    "_correlate_except",
    "_memoized_select_entities",
    "_for_update_arg",
)
_VISITED_APART = (
    "_returning",
    "_supplemental_returning",
    "_return_defaults_columns",
    "_values",
    "_multi_values",
    "table",
)
# A node with what surrounds it, and whether a sealed column may stand there.
Visit = tuple[Any, Any, bool]


def touches_sealed(statement: Any, options: Iterable[Any] = ()) -> bool:
    """Whether a sealed column or its terms are used. Raises: SealedColumnError for a use that cannot work.

    options: the ORM's, of which criteria for all occurrences of an entity reach into subqueries unseen.
    """
    touched = False
    for option in options:
        if isinstance(option, LoaderCriteriaOption):
            for mapper in option._all_mappers():
                touched |= touches_sealed(option._resolve_where_criteria(mapper))
    stack: list[Visit] = [(statement, None, False)]
    while stack:
        node, parent, may_stand = stack.pop()
        if isinstance(node, LambdaElement):
            node = node._resolved
        if isinstance(node, ColumnElement):
            touched |= _is_of_sealed(node, parent, may_stand)
        stack.extend(_children(node, parent is None, may_stand))
    return touched


def _is_of_sealed(node: "ColumnElement[Any]", parent: Any, may_stand: bool) -> bool:
    """Whether an expression is a sealed column or its terms. Raises: as touches_sealed."""
    if isinstance(node.type, Declaration):
        if isinstance(node, BindParameter):
            if not _is_written(parent):
                refuse(node, "a parameter of its type")
        elif not may_stand:
            refuse(node, parent)
        return True
    if isinstance(node.type, Term | AskedTermType):
        if isinstance(node.type, Term) and _compares_parts(parent):
            _refuse_chance([node.type], asked=False, about_null=False)
        return True
    if isinstance(node, ColumnClause) and is_plaintext(node) and not is_as_stored(node):
        refuse_plaintext(node)
    return False


def _compares_parts(parent: Any) -> bool:
    """Whether what stands there is compared with something that stands elsewhere: (x, y) = (...), CASE x WHEN ..."""
    return isinstance(parent, Tuple) or (isinstance(parent, Case) and parent.value is not None)


def _is_written(parent: Any) -> bool:
    """Whether a parameter is what VALUES or SET is given, which was sealed; elsewhere it only looks sealed."""
    return isinstance(parent, Insert | Update) or getattr(parent, "__visit_name__", "") in _ON_CONFLICT


def _children(node: Any, outermost: bool, may_stand: bool) -> Iterable[Visit]:  # noqa: PLR0912  # one line a kind
    visits: Iterable[Visit] = ()
    match node:
        case Select():
            visits = _of_select(node)
        case CompoundSelect():
            visits = _of_union(node)
        case Insert() | Update() | Delete():
            visits = _of_dml(node, outermost)
        case BinaryExpression():
            visits = _of_comparison(node)
        case AskByMode():
            visits = [(part, node, True) for part in (node.sealed, node.term)]
        case JoinByMode():
            visits = [(part, node, True) for part in (node.left, node.right, node.left_term, node.right_term)]
        case Exists() | ScalarSelect():
            visits = [(child, node, True) for child in node.get_children()]
        case Label() | Grouping():
            visits = [(child, node, may_stand) for child in node.get_children()]
        case Over():
            visits = _of_window(node)
        case functions.count():
            visits = [(argument, node, True) for argument in node.clauses]
        case TextualSelect():
            visits = [(column, "text().columns()", False) for column in node.column_args]
        case ClauseElement() if node.__visit_name__ in _ON_CONFLICT:
            visits = _of_conflict(node)
        case HasTraverseInternals():
            visits = [(child, node, False) for child in node.get_children()]
    return visits


def _of_select(node: "Select[Any]") -> Iterator[Visit]:
    sealed_outputs = [
        column for column in node._all_selected_columns if isinstance(getattr(column, "type", None), Declaration)
    ]
    if sealed_outputs:
        if node._distinct and not node._distinct_on and not _is_distinct_on(node._pre_columns_clause):
            refuse(sealed_outputs[0], "DISTINCT")
        _refuse_named(sealed_outputs, (*node._order_by_clauses, *node._group_by_clauses))
    for output in node._raw_columns:
        yield output, node, True
    for child in HasTraverseInternals.get_children(node, omit_attrs=_HIDDEN_FROM_WALK):
        yield child, node, False
    for source in node._iterate_from_elements():
        yield source, node, False


def _of_window(node: "Over[Any]") -> Iterator[Visit]:
    """What is in its lists is named as the window's."""
    for child in (node.element, node.range_, node.rows, node.groups):
        yield child, node, False
    for named in (node.partition_by, node.order_by):
        for part in () if named is None else named.clauses:
            yield part, node, False


def _is_distinct_on(clause: Any) -> bool:
    return clause is not None and any(isinstance(part, DistinctOnClause) for part in iterate(clause))


def _of_union(node: CompoundSelect[Any]) -> Iterator[Visit]:
    parts = [list(part._all_selected_columns) for part in node.selects]
    for column in zip(*parts, strict=False):
        kinds = [getattr(one, "type", None) for one in column]
        sealed = next((one for one, kind in zip(column, kinds, strict=True) if isinstance(kind, Declaration)), None)
        if sealed is None:
            continue
        if node.keyword.value != _UNION_ALL:
            refuse(sealed, node.keyword.value)
        if len({getattr(kind, "owner", None) for kind in kinds}) > 1:
            refuse(sealed, "UNION ALL with another column")
        _refuse_named([sealed], (*node._order_by_clauses, *node._group_by_clauses))
    for child in node.get_children():
        yield child, node, False


def _of_dml(node: Any, outermost: bool) -> Iterator[Visit]:
    plan = plan_of(node.table)
    if plan is not None and not outermost and not isinstance(node, Delete):
        raise SealedColumnError(
            f"{plan.table.name} has sealed columns: an INSERT or UPDATE inside a statement cannot seal, run it alone"
        )
    for copied in getattr(getattr(node, "select", None), "_all_selected_columns", ()):
        if isinstance(getattr(copied, "type", None), Declaration):
            refuse(copied, "INSERT FROM SELECT")
    for returned in (*node._returning, *(node._supplemental_returning or ()), *(node._return_defaults_columns or ())):
        yield returned, node, True
    for written in _written(node):
        yield written, node, False
    for child in HasTraverseInternals.get_children(node, omit_attrs=_VISITED_APART):
        yield child, node, False
    if not isinstance(node.table, Table):
        yield node.table, node, False


def _written(node: Any) -> Iterator[Any]:
    """What VALUES or SET is given, without the columns that it is given to."""
    groups = [row for group in getattr(node, "_multi_values", ()) for row in group]
    for values in (getattr(node, "_values", None) or {}, *groups):
        for value in values.values() if isinstance(values, Mapping) else values:
            if isinstance(value, ClauseElement):
                yield value


def _of_conflict(node: Any) -> Iterator[Visit]:
    """ON CONFLICT, ON DUPLICATE KEY: what SET is given was looked at when the statement was sealed."""
    for values in (getattr(node, "update_values_to_set", None), getattr(node, "update", None)):
        for value in (values or {}).values():
            yield value, node, True
    for clause in ("update_whereclause", "inferred_target_whereclause"):
        yield getattr(node, clause, None), node, False


def _of_comparison(node: "BinaryExpression[Any]") -> Iterator[Visit]:
    about_null = node.operator in (operators.is_, operators.is_not) and isinstance(node.right, Null)
    sides = (node.left, node.right)
    terms = [side.type for side in sides if isinstance(side.type, Term)]
    if terms:
        for side in sides:
            if isinstance(side, BindParameter) and not isinstance(side.type, Term | AskedTermType):
                raise SealedColumnError(
                    "a term column is compared with a value that is no term: compare the sealed column itself"
                )
        _refuse_chance(terms, asked=any(isinstance(side.type, AskedTermType) for side in sides), about_null=about_null)
    yield node.left, node, about_null
    yield node.right, node, False


def _refuse_chance(terms: list[Term], *, asked: bool, about_null: bool) -> None:
    """Terms that are never equal, or are so for unequal values, must not be compared with one another."""
    if not asked and not about_null and not all(term.exact for term in terms):
        raise SealedColumnError(
            "a term column of a truncated or partial index is compared, which unequal values share: ask by find() or"
            " find_all(), which open and compare; to join, declare a full-length index with a scope"
        )
    if len({term.joins for term in terms}) > 1:
        raise SealedColumnError(
            "term columns of two indexes are compared, whose keys differ, so that no two are equal: declare both"
            ' columns with BlindIndex(scope="...") of one name'
        )


def _refuse_named(outputs: list[Any], clauses: Iterable[Any]) -> None:
    """ORDER BY and GROUP BY can name a result column by text."""
    names = {
        name for output in outputs for name in (getattr(output, "name", None), getattr(output, "key", None)) if name
    }
    for clause in clauses:
        for part in iterate(clause):
            if part.__visit_name__ == "textual_label_reference" and getattr(part, "element", None) in names:
                refuse(outputs[0], "ORDER BY or GROUP BY")
