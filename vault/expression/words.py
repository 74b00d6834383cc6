"""Words: the pieces that a question's text falls into, each with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from vault.expression.errors import QuestionTextError

# Ours: longer than any question a person writes, short enough that it is read at once.
LONGEST_QUESTION: Final = 10_000
Kind = Literal["name", "number", "text", "symbol", "end"]

_WORD: Final = re.compile(
    r"""(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])
      | '(?P<text>(?:[^']|'')*+)'
      | (?P<symbol><=|>=|!=|<>|==|[=<>(),*/+-])""",
    re.VERBOSE | re.ASCII,
)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_BLANK: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Word:
    """kind; text: as written (a quoted text without its quotes); position: of its first character, from 1.

    A number has no sign: a minus before it is a symbol of its own.
    """

    kind: Kind
    text: str
    position: int

    def says(self, *keywords: str) -> bool:
        """Whether this is one of the symbols, or, upper or lower case, one of the keywords."""
        return self.kind in ("name", "symbol") and self.text.lower() in keywords


def words(text: str) -> Iterator[Word]:
    """The words of a question, and an `end` word after the last one.

    Raises: QuestionTextError at the first character that begins no word, and for lone surrogates.
    """
    if len(text) > LONGEST_QUESTION:
        raise QuestionTextError(LONGEST_QUESTION + 1, f"a question has at most {LONGEST_QUESTION} characters")
    stray = _SURROGATE.search(text)
    if stray:
        raise QuestionTextError(stray.start() + 1, "this is half a character; write the text in UTF-8")
    place = _after_blanks(text, 0)
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            raise QuestionTextError(place + 1, _what_is_wrong(text[place]))
        kind: Kind = found.lastgroup  # type: ignore[assignment]
        written = found[kind].replace("''", "'") if kind == "text" else found[kind]
        yield Word(kind, written, place + 1)
        place = _after_blanks(text, found.end())
    yield Word("end", "", place + 1)


def _after_blanks(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _what_is_wrong(character: str) -> str:
    if character == "'":
        return "this text is not closed; end it with ' (and write '' for a ' inside)"
    if character == '"':
        return "a text stands in single quotes: 'like this'; a column's name has none"
    if character in "0123456789.":
        return "expected a decimal number such as 12, -0.5 or 1e3"
    return "expected a name, a number, a 'text' or one of = != < <= > >= ( ) , + - * /"
