"""A duration on the command line is one of the vault's, and a slip is told as typer tells one."""

from datetime import timedelta

import pytest
import typer

from vault.cli.duration import parse_duration


def test_a_number_and_a_unit_are_a_duration() -> None:
    assert parse_duration(" 2w ") == timedelta(days=14)


@pytest.mark.parametrize(("text", "told"), [("30 days", "such as 30d or 12h"), ("36526d", "hundred years")])
def test_anything_else_is_told_what_there_is_to_write(text: str, told: str) -> None:
    with pytest.raises(typer.BadParameter, match=told) as raised:
        parse_duration(text)
    assert raised.value.__cause__ is raised.value.__context__ is None
