"""Numpy scalar: whether a value is one of numpy's, told without importing numpy: who has such a value imported it."""

import sys
from typing import Any, TypeGuard

__all__ = ["is_numpy_scalar"]


def is_numpy_scalar(value: object, kind: str) -> TypeGuard[Any]:
    """kind: the name of a type of numpy, such as integer, floating or bool_."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, kind))
