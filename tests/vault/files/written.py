"""Files for the reader's tests, and what an error gives away."""

from collections.abc import Iterator
from pathlib import Path

from vault.policy import ColumnPolicy, ColumnType, TablePolicy


def table(key: str, **types: ColumnType) -> TablePolicy:
    return TablePolicy(key=(key,), column={name: ColumnPolicy(type=kind) for name, kind in types.items()})


def written(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def given_away(error: BaseException) -> str:
    """All that an error shows: text, repr, arguments and attributes, of itself and of all that it is chained to."""
    return "\n".join(f"{one} {one!r} {one.args!r} {vars(one)!r}" for one in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    if error is not None:
        yield error
        yield from _chain(error.__cause__)
        yield from _chain(error.__context__)
