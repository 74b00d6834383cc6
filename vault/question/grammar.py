"""Grammar: how a question's text is read.

    question   = aggregate [ "where" condition { "and" condition } ] [ "by" column { "," column } ]
    aggregate  = "count" [ "(" [ "*" ] ")" ] | ( "sum" | "mean" ) "(" column ")"
    condition  = column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) literal
               | column "in" "(" literal { "," literal } ")" | column "between" literal "and" literal
    literal    = decimal number | "'" text "'"          ('' is a ' inside a text)

Keywords are known in upper and lower case; columns are as the policy spells them. Blanks may stand between words.
"""

from decimal import Decimal
from typing import cast

from vault.exact_number import exact_number
from vault.question.errors import QuestionTextError
from vault.question.form import Aggregate, Comparison, Operator, Question
from vault.question.words import Word, words

_SYMBOLS: dict[str, Operator] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip


def parse(text: str) -> Question:
    """Read one question.

    Raises: QuestionTextError (a QuestionError) with the place and what may stand there.
    """
    return _Reader(text).question()


class _Reader:
    """One pass over the words of one text."""

    def __init__(self, text: str) -> None:
        self._words = words(text)
        self._next = next(self._words)

    def question(self) -> Question:
        aggregate, column = self._aggregate()
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
        if self._next.says("or", "not"):
            raise self._refused("conditions are joined by `and` only; ask separate questions")
        if self._next.says("where"):
            raise self._refused("`where` stands before `by`, once")
        if self._next.kind != "end":
            expected = "`,`" if by else "`and`, `by`" if where else "`where`, `by`"
            raise self._refused(f"expected {expected} or the end")
        return Question(aggregate, column, tuple(where), tuple(by))

    def _aggregate(self) -> tuple[Aggregate, str | None]:
        word = self._take()
        if not word.says("count", "sum", "mean"):
            raise self._refused("a question begins with count(*), sum(COLUMN) or mean(COLUMN)", word)
        aggregate = cast("Aggregate", word.text.lower())
        column = None
        if aggregate != "count":
            self._expect("(", f"after {aggregate}")
            column = self._column()
            self._expect(")", "after the column; expressions are not known")
        elif self._skip("("):
            self._skip("*")
            self._expect(")", "after `count(`: it counts rows; count(*) where ... counts some of them")
        return aggregate, column

    def _condition(self) -> list[Comparison]:
        column = self._column()
        word = self._take()
        if word.kind == "symbol" and word.text in _SYMBOLS:
            return [Comparison(column, _SYMBOLS[word.text], (self._literal(),))]
        if word.says("between"):
            low = self._literal()
            self._expect("and", "between the two limits")
            return [Comparison(column, ">=", (low,)), Comparison(column, "<=", (self._literal(),))]
        if word.says("in"):
            return [self._in(column)]
        raise self._refused("expected = != < <= > >= in or between; a NULL meets no condition", word)

    def _in(self, column: str) -> Comparison:
        self._expect("(", "after `in`")
        first = self._next
        values = [self._literal()]
        while self._skip(","):
            values.append(self._literal())
        self._expect(")", "after the values of `in`")
        if len({type(value) for value in values}) > 1:
            raise self._refused("the values of `in` are all numbers or all texts", first)
        return Comparison(column, "in", tuple(values))

    def _column(self) -> str:
        word = self._take()
        if word.kind != "name":
            raise self._refused("expected the name of a column", word)
        return word.text

    def _literal(self) -> Decimal | str:
        word = self._take()
        problem = "expected a number or a 'text' in single quotes"
        if word.kind == "text":
            return word.text
        if word.kind == "number":
            try:
                return exact_number(word.text)
            except ValueError as error:
                problem = str(error)
        raise self._refused(problem, word)

    def _take(self) -> Word:
        word = self._next
        if word.kind != "end":
            self._next = next(self._words)
        return word

    def _skip(self, keyword: str) -> bool:
        found = self._next.says(keyword)
        if found:
            self._take()
        return found

    def _expect(self, keyword: str, where: str) -> None:
        if not self._skip(keyword):
            raise self._refused(f"expected `{keyword}` {where}")

    def _refused(self, problem: str, at: Word | None = None) -> QuestionTextError:
        return QuestionTextError((at or self._next).position, problem)
