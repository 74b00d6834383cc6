"""Asked value: what a statement asks for, carried so that no repr, log, error or pickle shows it."""

from typing import Any, NoReturn

__all__ = ["Asked"]


class Asked:
    """Holds one value until its term is computed, when the statement runs."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<asked value>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an asked value is not pickled: build the statement where it runs")

    def __deepcopy__(self, _memo: Any) -> "Asked":
        return self
