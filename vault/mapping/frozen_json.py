"""Frozen JSON: dict and list that refuse to change, so that a change in place is an error and never lost in silence.

They equal plain ones and work wherever those are read; copy.deepcopy() gives a plain one that can change.
"""

from typing import Any, NoReturn

__all__ = ["FrozenDict", "FrozenList", "frozen", "thawed"]

REFUSAL = (
    "a sealed JSON value does not change in place, where no flush would notice: change a copy, copy.deepcopy(value),"
    " and assign that"
)


def frozen(value: Any) -> Any:
    """The JSON value, with its objects and arrays frozen; what is not JSON is left for the codec to refuse."""
    if type(value) in (FrozenDict, FrozenList):
        return value
    try:
        return _frozen(value)
    except RecursionError:
        return value  # the codec refuses it, and says why


def thawed(value: Any) -> Any:
    """The same in plain dict and list."""
    if isinstance(value, dict):
        return {name: thawed(member) for name, member in value.items()}
    return [thawed(member) for member in value] if isinstance(value, list) else value


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenDict({name: _frozen(member) for name, member in value.items()})
    return FrozenList(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _refuse(_self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(REFUSAL)


class FrozenDict(dict[str, Any]):
    """A JSON object that does not change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _memo: Any) -> dict[str, Any]:
        return dict(thawed(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (thawed(self),)


class FrozenList(list[Any]):
    """A JSON array that does not change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, _memo: Any) -> list[Any]:
        return list(thawed(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (thawed(self),)
