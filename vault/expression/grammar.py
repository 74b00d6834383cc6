"""Grammar: how an expression's text is read.

expression = product { ( "+" | "-" ) product }
product    = signed { ( "*" | "/" ) signed }
signed     = ( "-" | "+" ) signed | primary
primary    = number | column | "(" expression ")" | "abs" "(" expression ")"
           | ( "min" | "max" ) "(" expression "," expression { "," expression } ")"
           | "case" branch { branch } [ "else" expression ] "end"
branch     = "when" test { "and" test } "then" expression
test       = expression ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) expression
           | expression "between" expression "and" expression
           | column ( "=" | "!=" ) "'" text "'" | column "in" "(" literal { "," literal } ")"
"""

from typing import Final, cast

from vault.expression.comparison import Comparison
from vault.expression.errors import QuestionTextError
from vault.expression.form import (
    Arithmetic,
    Call,
    Case,
    Column,
    Condition,
    Expression,
    Function,
    Number,
    Operation,
    Relation,
    Test,
    negated,
)
from vault.expression.reader import Reader
from vault.expression.words import Word

# Ours: more than a person writes, and few enough that reading and computing one is never deep.
MOST_PARTS: Final = 100
RELATIONS: Final[dict[str, Relation]] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip


def parse_expression(text: str) -> Expression:
    """Read one expression.

    Raises: QuestionTextError (a QuestionError) with the place and what may stand there.
    """
    return ExpressionReader(text).whole()


class ExpressionReader(Reader):
    """One pass over the words of one text that is, or holds, an expression."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._parts = 0

    def whole(self) -> Expression:
        """The expression, where the text is nothing else."""
        found = self._expression()
        if self._next.kind != "end":
            raise self._refused("expected + - * / or the end")
        return found

    def _expression(self) -> Expression:
        left = self._product()
        while self._next.says("+", "-"):
            word = self._take()
            left = Operation(cast("Arithmetic", word.text), left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while self._next.says("*", "/"):
            word = self._take()
            left = Operation(cast("Arithmetic", word.text), left, self._signed())
        return left

    def _signed(self) -> Expression:
        minus = self._next.says("-")
        if not self._skip("-", "+"):
            return self._primary()
        self._count()
        of = self._signed()
        return negated(of) if minus else of

    def _primary(self) -> Expression:
        self._count()
        word = self._take()
        if word.says("("):
            inner = self._expression()
            self._expect(")", "after the expression")
            return inner
        if word.kind == "number":
            return self._literal_of(word)
        if word.says("case") and self._next.says("when"):
            return self._case()
        if word.kind == "name" and self._next.says("("):
            return self._call(word)
        if word.kind != "name":
            raise self._refused("expected the name of a column, a number, ( or a function", word)
        return Column(word.text)

    def _literal_of(self, word: Word) -> Number:
        value = self._number(word)
        try:
            return Number(value)
        except ValueError as error:
            problem = str(error)
        raise self._refused(problem, word)

    def _call(self, word: Word) -> Expression:
        if not word.says("abs", "min", "max"):
            raise self._refused("the functions of an expression are abs, min and max", word)
        function = cast("Function", word.text.lower())
        self._take()
        arguments = [self._expression()]
        while function != "abs" and self._skip(","):
            arguments.append(self._expression())
        if function != "abs" and len(arguments) == 1:
            raise self._refused(f"{function} is of two or more expressions of one row, such as {function}(a, 100)")
        self._expect(")", f"after what {function} is of")
        return Call(function, tuple(arguments))

    def _case(self) -> Case:
        branches = []
        while self._skip("when"):
            conditions = self._tests()
            while self._skip("and"):
                conditions += self._tests()
            self._expect("then", "after the conditions; they are joined by `and`")
            branches.append((tuple(conditions), self._expression()))
        otherwise = self._expression() if self._skip("else") else None
        self._expect("end", "after the branches of `case`")
        return Case(tuple(branches), otherwise)

    def _tests(self) -> list[Condition]:
        before = self._parts
        left = self._expression()
        of_left = self._parts - before
        word = self._take()
        if word.kind == "symbol" and word.text in RELATIONS:
            relation = RELATIONS[word.text]
            if self._next.kind != "text":
                return [Test(left, relation, self._expression())]
            return [Comparison(self._named(left, word), relation, (self._take().text,))]
        if word.says("between"):
            self._count(of_left)  # which stands in two tests: else each `between` within another would double it
            low = self._expression()
            self._expect("and", "between the two limits")
            return [Test(left, ">=", low), Test(left, "<=", self._expression())]
        if word.says("in"):
            return [self._within(left, word)]
        raise self._refused("expected = != < <= > >= in or between", word)

    def _within(self, left: Expression, word: Word) -> Condition:
        values = self._literals()
        self._parts += len(values)
        name = self._named(left, word)
        if isinstance(values[0], str):
            return Comparison(name, "in", values)
        try:
            numbers = {Number(value).value for value in values if not isinstance(value, str)}
        except ValueError as error:
            problem = str(error)
        else:
            found = Comparison(name, "in", tuple(numbers))
            return found if found.operator == "in" else Test(left, "=", Number(next(iter(numbers))))
        raise self._refused(problem, word)

    def _named(self, left: Expression, word: Word) -> str:
        if not isinstance(left, Column):
            raise self._refused("only a column is compared with a 'text', or by `in`", word)
        return left.name

    def _count(self, parts: int = 1) -> None:
        self._parts += parts
        if self._parts > MOST_PARTS:
            raise QuestionTextError(self._next.position, f"an expression has at most {MOST_PARTS} parts")
