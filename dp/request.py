"""A request: who asks which question of which dataset, and at what price. Checked when made, without the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dp.errors import ParameterError
from dp.price import Price, require_price

NAME_CHARACTERS: Final = 190  # ours: what the ledger's index takes
REQUEST_ID_CHARACTERS: Final = 64  # ours
MAX_EPOCH: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Request:
    """Everything public about one question.

    dataset, principal: names of up to 190 printable characters.
    epoch: the dataset's public number, from its status.
    question_text: the canonical form, so that two spellings of one question are one question.
    price: what the answer may cost one person.
    parameters: all else that the answer depends on (bounds, grid, caps), in one canonical spelling.
    group_labels: the declared groups, in order.
    shared: anyone gets the answer that was released to the first who asked. Otherwise each principal has their own,
        so that a free answer tells nobody what others asked.
    columns: those that are aggregated, grouped or filtered by, sorted, each once; their budgets are charged.
    column_prices: of a batch, what the questions that touch each of the columns cost together. Otherwise it is empty,
        and each column costs the price.
    request_id: of the principal's own choice, 1 to 64 printable ASCII characters: the same id is the same request, sent
        again, and gets what became of it. None: each time a request of its own.

    Raises: ParameterError naming the field.
    """

    dataset: str
    epoch: int
    principal: str
    question_text: str
    price: Price
    parameters: str = ""
    group_labels: tuple[str, ...] = ()
    shared: bool = False
    columns: tuple[str, ...] = ()
    column_prices: tuple[Price, ...] = ()
    request_id: str | None = None

    def __post_init__(self) -> None:
        require_name("dataset", self.dataset)
        require_name("principal", self.principal)
        if type(self.epoch) is not int or not 0 < self.epoch <= MAX_EPOCH:
            raise ParameterError("epoch", "it must be an int above 0; read it from the dataset's status")
        require_price(self.price)
        require_text("question_text", self.question_text)
        if not self.question_text:
            raise ParameterError("question_text", "it must not be empty")
        require_text("parameters", self.parameters)
        if type(self.group_labels) is not tuple:
            raise ParameterError("group_labels", "it must be a tuple of text")
        for label in self.group_labels:
            require_text("group_labels", label)
        _require_columns(self.columns, self.column_prices)
        if self.request_id is not None:
            require_request_id(self.request_id)

    @property
    def visibility(self) -> str:
        """Among whom an answer is shared: all, or one principal."""
        return "shared" if self.shared else f"principal:{self.principal}"


def _require_columns(columns: Sequence[str], prices: Sequence[Price]) -> None:
    if type(columns) is not tuple:
        raise ParameterError("columns", "it must be a tuple of names")
    for column in columns:
        require_name("columns", column)
    if list(columns) != sorted(set(columns)):
        raise ParameterError("columns", "they must be sorted, each there once")
    if type(prices) is not tuple or len(prices) not in {0, len(columns)}:
        raise ParameterError("column_prices", "it must be empty, or a tuple of one for each of the columns")
    for price in prices:
        require_price(price)


def require_name(parameter: str, name: object) -> str:
    """The same text, when it can name a dataset or a principal. Raises: ParameterError."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise ParameterError(parameter, f"it must be 1 to {NAME_CHARACTERS} printable characters")
    if name != name.strip():
        raise ParameterError(parameter, "it must not begin or end with a blank")
    return name


def require_request_id(request_id: object) -> str:
    """The same text, when it can name a request. Raises: ParameterError."""
    is_text = isinstance(request_id, str) and 0 < len(request_id) <= REQUEST_ID_CHARACTERS
    if not isinstance(request_id, str) or not is_text or not request_id.isascii() or not request_id.isprintable():
        raise ParameterError("request_id", f"it must be 1 to {REQUEST_ID_CHARACTERS} printable ASCII characters")
    if request_id != request_id.strip():
        raise ParameterError("request_id", "it must not begin or end with a blank")
    return request_id


def require_text(parameter: str, text: object) -> str:
    """The same text, when it can be stored. Raises: ParameterError."""
    if not isinstance(text, str):
        raise ParameterError(parameter, "it must be text")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(parameter, "it holds half a surrogate pair, which is no character")
    return text
