"""Grammar: how a question's text is read.

    question   = aggregate [ "where" condition { "and" condition } ] [ "by" column { "," column } ]
    aggregate  = "count" [ "(" [ "*" ] ")" ] | "count_units" [ "(" [ "*" ] ")" ] | "count_distinct" "(" column ")"
               | ( "sum" | "mean" | "variance" | "std" | "histogram" | "median" | "low" | "high" ) "(" expression ")"
               | "quantile" "(" expression "," number { "," number } ")" | "top" "(" number ")"
    condition  = column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) literal
               | column "in" "(" literal { "," literal } ")" | column "between" literal "and" literal
    literal    = decimal number | "'" text "'"          ('' is a ' inside a text)

Keywords are known in upper and lower case; columns are as the policy spells them. Blanks may stand between words.
Expressions: vault/expression/grammar.py.
"""

from decimal import Decimal
from typing import Final

from vault.exact_number import is_whole
from vault.expression import Column, Comparison, Expression
from vault.expression.grammar import RELATIONS, ExpressionReader
from vault.expression.words import Word
from vault.question.form import MOST_LEVELS, MOST_TOP, Aggregate, Question, require_level

# Words for one and the same.
NAMES: Final[dict[str, Aggregate]] = {
    "count": "count", "count_units": "count_units", "count_distinct": "count_distinct", "sum": "sum",
    "mean": "mean", "avg": "mean", "average": "mean", "variance": "variance", "var": "variance",
    "std": "std", "stddev": "std", "quantile": "quantile", "median": "quantile", "low": "quantile", "high": "quantile",
    "histogram": "histogram", "top": "top",
}  # fmt: skip
# min and max as quantiles near the ends: of one person's value no noise is small enough to say anything.
LEVELS: Final = {"median": Decimal("0.5"), "low": Decimal("0.05"), "high": Decimal("0.95")}
_BEGINNINGS: Final = (
    "a question begins with count(*), count_units(*), count_distinct(COLUMN), sum(COLUMN), mean(COLUMN),"
    " variance(COLUMN), std(COLUMN), quantile(COLUMN, 0.9), median(COLUMN), low(COLUMN), high(COLUMN),"
    " histogram(COLUMN) or top(N) by COLUMN"
)
_INSTEAD: Final = {"min": ("low", "0.05", "0.01"), "max": ("high", "0.95", "0.99")}


def parse(text: str) -> Question:
    """Read one question.

    Raises: QuestionTextError (a QuestionError) with the place and what may stand there.
    """
    return _Reader(text).question()


class _Reader(ExpressionReader):
    """One pass over the words of one text."""

    def question(self) -> Question:
        word = self._take()
        aggregate = self._aggregate(word)
        of, levels, first = self._arguments(word, aggregate)
        if of is not None and aggregate == "count":
            aggregate = "count_distinct"
        where: list[Comparison] = []
        by: list[str] = []
        if self._skip("where"):
            where = self._condition()
            while self._skip("and"):
                where += self._condition()
        if self._skip("by"):
            by.append(self._column())
            while self._skip(","):
                by.append(self._column())
        self._end(where, by)
        if aggregate == "top" and not by:
            raise self._refused("say of which groups: top(5) by COLUMN")
        return Question(aggregate, of, tuple(where), tuple(by), levels, first)

    def _end(self, where: list[Comparison], by: list[str]) -> None:
        if self._next.says("or", "not"):
            raise self._refused("conditions are joined by `and` only; ask separate questions")
        if self._next.says("where"):
            raise self._refused("`where` stands before `by`, once")
        if self._next.says("from", "join"):
            raise self._refused("a question is about its dataset's table and joins none; say which --dataset")
        if self._next.kind != "end":
            expected = "`,`" if by else "`and`, `by`" if where else "`where`, `by`"
            raise self._refused(f"expected {expected} or the end")

    def _aggregate(self, word: Word) -> Aggregate:
        name = word.text.lower() if word.kind == "name" else ""
        if name in _INSTEAD:
            instead, level, farther = _INSTEAD[name]
            raise self._refused(
                f"the {name} is one person's value; write {instead}(COLUMN), which is its {level} quantile, or"
                f" quantile(COLUMN, {farther})",
                word,
            )
        if name not in NAMES:
            raise self._refused(_BEGINNINGS, word)
        return NAMES[name]

    def _arguments(self, word: Word, aggregate: Aggregate) -> tuple[Expression | None, tuple[Decimal, ...], int]:
        """Between the parentheses: what the aggregate is of, the levels of quantiles, and how many top names."""
        name = word.text.lower()
        if aggregate in ("count", "count_units"):
            return self._counted(aggregate), (), 0
        self._expect("(", f"after {name}")
        if aggregate == "top":
            first = self._first()
            self._expect(")", "after how many groups top names; say of which after `by`")
            return None, (), first
        if aggregate == "count_distinct":
            of: Expression = Column(self._column())
            self._expect(")", "after the column")
            return of, (), 0
        of = self._expression()
        levels = (LEVELS[name],) if name in LEVELS else self._levels() if aggregate == "quantile" else ()
        self._expect(")", "after the expression")
        return of, levels, 0

    def _counted(self, aggregate: Aggregate) -> Expression | None:
        if not self._skip("("):
            return None
        if aggregate == "count" and self._skip("distinct"):
            column = Column(self._column())
            self._expect(")", "after the column")
            return column
        self._skip("*")
        what = "it counts rows" if aggregate == "count" else "it counts units"
        self._expect(")", f"after `{aggregate}(`: {what}; {aggregate}(*) where ... counts some of them")
        return None

    def _first(self) -> int:
        word = self._next
        number = self._literal()
        if isinstance(number, str) or not is_whole(number) or not 1 <= number <= MOST_TOP:
            raise self._refused(f"expected how many groups to name, a whole number from 1 to {MOST_TOP}", word)
        return int(number)

    def _levels(self) -> tuple[Decimal, ...]:
        levels: list[Decimal] = []
        self._expect(",", "and which quantile after it, such as quantile(COLUMN, 0.9)")
        while not levels or self._skip(","):
            word = self._next
            level = self._literal()
            problem = "expected the level of a quantile, such as 0.9"
            if not isinstance(level, str):
                try:
                    levels.append(require_level(level))
                except ValueError as error:
                    problem = str(error)
                else:
                    continue
            raise self._refused(problem, word)
        if len(set(levels)) > MOST_LEVELS:
            raise self._refused(f"at most {MOST_LEVELS} quantiles at once")
        return tuple(levels)

    def _condition(self) -> list[Comparison]:
        column = self._column()
        word = self._take()
        if word.kind == "symbol" and word.text in RELATIONS:
            return [Comparison(column, RELATIONS[word.text], (self._literal(),))]
        if word.says("between"):
            low = self._literal()
            self._expect("and", "between the two limits")
            return [Comparison(column, ">=", (low,)), Comparison(column, "<=", (self._literal(),))]
        if word.says("in"):
            return [Comparison(column, "in", self._literals())]
        raise self._refused("expected = != < <= > >= in or between; a NULL meets no condition", word)
