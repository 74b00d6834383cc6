"""Models: an application's mapped classes, by the name under which Python imports them."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer
from sqlalchemy import MetaData

from vault.errors import PolicyError, VaultError

__all__ = ["ModelsOption", "load_models"]

ModelsOption = Annotated[
    str | None,
    typer.Option("--models", metavar="MODULE:BASE", help="Your mapped classes, instead of the policy's tables."),
]
EXPECTED: Final = "--models takes MODULE:BASE, such as clinic.models:Base; BASE has a metadata, or is one"


def load_models(named: str | None) -> MetaData | None:
    """The tables of `module:Base`, found from the working folder too, as `python -m` does; None for None.

    Every mapped class must have been imported by that module. Raises: PolicyError; what a declaration raises.
    """
    if named is None:
        return None
    module, _, attribute = named.partition(":")
    if not module or not attribute:
        raise PolicyError(EXPECTED)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    base: object = None
    failed = ""
    try:
        base = import_module(module)
        for part in attribute.split("."):
            base = getattr(base, part)
    except VaultError:
        raise
    except Exception as error:  # noqa: BLE001  # the application's own; its text could hold what it was configured with
        failed = f"{type(error).__name__}; try: python -c 'import {module}'"
    if failed:
        raise PolicyError(f"{named} cannot be imported ({failed})")
    metadata = base if isinstance(base, MetaData) else getattr(base, "metadata", None)
    if not isinstance(metadata, MetaData):
        raise PolicyError(f"{named} has no metadata; {EXPECTED}")
    if not metadata.tables:
        raise PolicyError(f"{named} has no table: name the module that has imported all mapped classes")
    return metadata
