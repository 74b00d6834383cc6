"""Reader: one pass over the words of one text, with the next word always in sight."""

from decimal import Decimal

from vault.exact_number import exact_number, normal
from vault.expression.errors import QuestionTextError
from vault.expression.words import Word, words


class Reader:
    """What each grammar is built on. Its methods raise QuestionTextError with the place and what may stand there."""

    def __init__(self, text: str) -> None:
        self._words = words(text)
        self._next = next(self._words)

    def _take(self) -> Word:
        word = self._next
        if word.kind != "end":
            self._next = next(self._words)
        return word

    def _skip(self, *keywords: str) -> bool:
        found = self._next.says(*keywords)
        if found:
            self._take()
        return found

    def _expect(self, keyword: str, where: str) -> None:
        if not self._skip(keyword):
            raise self._refused(f"expected `{keyword}` {where}")

    def _column(self) -> str:
        word = self._take()
        if word.kind != "name":
            raise self._refused("expected the name of a column", word)
        return word.text

    def _literal(self) -> Decimal | str:
        word = self._take()
        minus = word.says("-")
        if word.says("-", "+"):
            word = self._take()
        elif word.kind == "text":
            return word.text
        if word.kind != "number":
            raise self._refused("expected a number or a 'text' in single quotes", word)
        number = self._number(word)
        return normal(number.copy_negate()) if minus else number

    def _number(self, word: Word) -> Decimal:
        try:
            return exact_number(word.text)
        except ValueError as error:
            problem = str(error)
        raise self._refused(problem, word)

    def _literals(self) -> tuple[Decimal | str, ...]:
        """What stands after `in`: all numbers or all texts."""
        self._expect("(", "after `in`")
        first = self._next
        values = [self._literal()]
        while self._skip(","):
            values.append(self._literal())
        self._expect(")", "after the values of `in`")
        if len({type(value) for value in values}) > 1:
            raise self._refused("the values of `in` are all numbers or all texts", first)
        return tuple(values)

    def _refused(self, problem: str, at: Word | None = None) -> QuestionTextError:
        return QuestionTextError((at or self._next).position, problem)
