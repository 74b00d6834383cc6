"""One line of a file is a secret; anything else is a mistake that is not shown."""

from pathlib import Path

import pytest

from kms.errors import KeyFileError
from kms.logins.secret_line import secret_line
from tests.kms.providers.transit import frames_of


@pytest.mark.parametrize("content", [b"s.abc", b"s.abc\n", b" s.abc \r\n"])
def test_blanks_around_the_line_do_not_count(content: bytes) -> None:
    assert secret_line(content, Path("f"), "token file").reveal() == "s.abc"


@pytest.mark.parametrize("content", [b"", b"\n", b"hunter2\nhunter2", b"hunter2 x", b"hunter2\x00", b"hunter2\xc3\xa9"])
def test_anything_else_is_refused_and_not_shown(content: bytes) -> None:
    with pytest.raises(KeyFileError, match="the token file f holds one line") as raised:
        secret_line(content, Path("f"), "token file")
    assert "hunter2" not in frames_of(raised.value)
