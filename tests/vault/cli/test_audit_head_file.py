"""The file of an audit head: what was written is read, and nothing else is."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dp.ledger.log.audit import AuditHead
from vault.cli.audit_head_file import read_head, write_head
from vault.errors import PolicyError

macs = st.binary(min_size=32, max_size=32).map(bytes.hex)
heads = st.builds(AuditHead, st.integers(1, 2**63 - 1), macs) | st.just(AuditHead(0, ""))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(head=heads)
def test_what_was_written_is_read(head: AuditHead, tmp_path: Path) -> None:
    write_head(tmp_path / "head", head)
    assert read_head(tmp_path / "head") == head
    assert [file.name for file in tmp_path.iterdir()] == ["head"]


@pytest.mark.parametrize("text", [
    "", "[]", "{}", "null", '{"format": "noisevault/1 audit head", "sequence": true, "mac": ""}',
    '{"format": "noisevault/1 audit head", "sequence": 1, "mac": ""}',
    '{"format": "noisevault/1 audit head", "sequence": -1, "mac": ""}',
    '{"format": "noisevault/2 audit head", "sequence": 0, "mac": ""}',
    '{"format": "noisevault/1 audit head", "sequence": 1, "mac": "' + "G" * 64 + '"}',
])  # fmt: skip
def test_anything_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "head").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match="is no audit head"):
        read_head(tmp_path / "head")


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "head").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_head(tmp_path / "head", AuditHead(0, ""))
    assert [file.name for file in tmp_path.iterdir()] == ["head"]
