"""Duration: a length of time as it is typed on the command line, such as 30d or 12h."""

from datetime import timedelta

import typer

from vault.duration import read_duration

__all__ = ["parse_duration"]


def parse_duration(text: str) -> timedelta:
    """A whole number and one unit. Raises: typer.BadParameter saying what there is to write."""
    try:
        return read_duration(text)
    except ValueError as error:
        reason = str(error)
    raise typer.BadParameter(reason)
