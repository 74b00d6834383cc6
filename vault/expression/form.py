"""Form: an expression over the columns of one row as a value, and its one canonical text.

Expressions that IEEE 754 says are equal for all values, by order alone, are equal: the two sides of one `+` or one `*`,
the arguments of min and max, the sides of a comparison. Nothing is re-associated: (a + b) + c is not a + (b + c).
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from vault.exact_number import normal, spell
from vault.expression.comparison import Comparison

Arithmetic = Literal["+", "-", "*", "/"]
Function = Literal["abs", "min", "max"]
Relation = Literal["=", "!=", "<", "<=", ">", ">="]
FUNCTIONS: Final[tuple[Function, ...]] = ("abs", "min", "max")
_TURNED: Final[dict[Relation, Relation]] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# How closely a text holds together; a part that holds less closely than its place asks for stands in parentheses.
_SUM, _PRODUCT, _SIGN, _WHOLE = range(4)
_ENDS_IN_CASE: Final = re.compile(r"\bcase$", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A literal: the float64 nearest to what was written, kept as the shortest decimal that names it.

    Raises: ValueError if it is beyond the largest float.
    """

    value: Decimal

    def __post_init__(self) -> None:
        nearest = float(normal(self.value))
        if math.isinf(nearest):
            raise ValueError("this number is beyond the largest float")
        object.__setattr__(self, "value", normal(Decimal(repr(nearest))))

    def __str__(self) -> str:
        return spell(self.value)


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column in this row."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Negated:
    """The opposite. Made by negated(), which knows what needs none."""

    of: "Expression"

    def __post_init__(self) -> None:
        if isinstance(self.of, Number | Negated):
            raise ValueError("a number has a sign, and two minuses are none")  # noqa: TRY004  a value, not a type

    def __str__(self) -> str:
        return f"-{_within(self.of, _SIGN)}"


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions added, subtracted, multiplied or divided, in float64."""

    operator: Arithmetic
    left: "Expression"
    right: "Expression"

    def __post_init__(self) -> None:
        if self.operator in ("+", "*"):
            left, right = sorted((self.left, self.right), key=lambda side: (_rank(side, self.operator), str(side)))
            object.__setattr__(self, "left", left)
            object.__setattr__(self, "right", right)

    def __str__(self) -> str:
        own = _SUM if self.operator in ("+", "-") else _PRODUCT
        return f"{_within(self.left, own)} {self.operator} {_within(self.right, own + 1)}"


@dataclass(frozen=True, slots=True)
class Call:
    """abs of one expression, or the min or max of several."""

    function: Function
    arguments: tuple["Expression", ...]

    def __post_init__(self) -> None:
        if self.function == "abs":
            if len(self.arguments) != 1:
                raise ValueError("abs is of one expression")
            return
        flat: list[Expression] = []
        for one in self.arguments:
            flat += one.arguments if isinstance(one, Call) and one.function == self.function else (one,)
        if len(flat) < 2:
            raise ValueError("min and max are of two or more expressions of one row")
        distinct = sorted(set(flat), key=str)
        object.__setattr__(self, "arguments", tuple(distinct if len(distinct) > 1 else flat[:2]))

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of two expressions; not met where either is NaN, whatever the operator."""

    __test__ = False  # no test of pytest's

    left: "Expression"
    operator: Relation
    right: "Expression"

    def __post_init__(self) -> None:
        left, right = _side(self.left), _side(self.right)
        if left > right or (left == right and self.operator in (">", ">=")):
            left_side = self.left
            object.__setattr__(self, "left", self.right)
            object.__setattr__(self, "right", left_side)
            object.__setattr__(self, "operator", _TURNED[self.operator])

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


Condition = Test | Comparison


@dataclass(frozen=True, slots=True)
class Case:
    """The expression of the first branch of which all conditions are met, else `otherwise`, else NaN.

    A condition on a text, and `in`, is a Comparison.
    """

    branches: tuple[tuple[tuple[Condition, ...], "Expression"], ...]
    otherwise: "Expression | None" = None

    def __post_init__(self) -> None:
        if not self.branches or not all(conditions for conditions, _ in self.branches):
            raise ValueError("case has a branch, and each branch a condition")
        for conditions, _ in self.branches:
            if any(isinstance(one, Comparison) and not (one.texts or one.operator == "in") for one in conditions):
                raise ValueError("a condition on one number is a Test")
        branches = tuple((tuple(sorted(set(conditions), key=str)), then) for conditions, then in self.branches)
        object.__setattr__(self, "branches", branches)

    def __str__(self) -> str:
        said = [f"when {' and '.join(map(str, conditions))} then {_chosen(then)}" for conditions, then in self.branches]
        if self.otherwise is not None:
            said.append(f"else {self.otherwise}")
        return f"case {' '.join(said)} end"


Expression = Number | Column | Negated | Operation | Call | Case


def negated(of: Expression) -> Expression:
    """The opposite: a number with the other sign, or what a minus stood before already."""
    if isinstance(of, Number):
        return Number(normal(of.value.copy_negate()))
    return of.of if isinstance(of, Negated) else Negated(of)


def columns_of(expression: Expression) -> frozenset[str]:
    """Every column that it reads."""
    return frozenset().union(*(_columns(one) for one in parts_of(expression)))


def parts_of(expression: Expression) -> list[Expression | Comparison]:
    """The expression and everything in it."""
    found: list[Expression | Comparison] = []
    waiting: list[Expression | Comparison] = [expression]
    while waiting:
        one = waiting.pop()
        found.append(one)
        match one:
            case Negated():
                waiting.append(one.of)
            case Operation():
                waiting += (one.left, one.right)
            case Call():
                waiting += one.arguments
            case Case():
                waiting += [then for _, then in one.branches]
                waiting += [] if one.otherwise is None else [one.otherwise]
                for condition in (each for conditions, _ in one.branches for each in conditions):
                    waiting += (condition.left, condition.right) if isinstance(condition, Test) else (condition,)
            case _:
                pass
    return found


def _columns(one: Expression | Comparison) -> frozenset[str]:
    match one:
        case Column():
            return frozenset((one.name,))
        case Comparison():
            return frozenset((one.column,))
        case _:
            return frozenset()


def _within(part: Expression, place: int) -> str:
    return f"({part})" if _closeness(part) < place else str(part)


def _chosen(then: Expression) -> str:
    """A column called case, before the `when` of the next branch, would begin a case of its own."""
    return f"({then})" if _ENDS_IN_CASE.search(str(then)) else str(then)


def _closeness(part: Expression) -> int:
    if isinstance(part, Operation):
        return _SUM if part.operator in ("+", "-") else _PRODUCT
    return _SIGN if isinstance(part, Negated) else _WHOLE


def _rank(side: Expression, operator: Arithmetic) -> int:
    """A chain stands first, so that it needs no parentheses; a number stands last."""
    if isinstance(side, Operation) and side.operator == operator:
        return 0
    return 2 if isinstance(side, Number) else 1


def _side(side: Expression) -> tuple[bool, str]:
    return isinstance(side, Number), str(side)
