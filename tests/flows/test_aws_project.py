"""The command with its key-encryption key in AWS KMS, at an endpoint that a variable names."""

from pathlib import Path

import pytest

from tests.kms.providers.aws import Aws
from tests.kms.providers.conftest import aws, aws_login, moto_url
from tests.vault.cli.conftest import CSV, Run
from tests.vault.projects import write_policy

__all__ = ["aws", "aws_login", "moto_url"]


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL"])
def test_a_project_lives_with_its_key_at_an_endpoint_of_aws(
    aws: Aws, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    policy = write_policy(tmp_path)
    policy.write_text(policy.read_text().replace("local:kek", f"awskms://{aws.create_key()}"))
    (tmp_path / "visits.csv").write_text(CSV)
    monkeypatch.setenv(variable, aws.url)
    refused = run("init")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "aws_endpoint speaks https" in refused.err
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    assert run("init").status == 0
    assert run("import", "visits.csv").status == 0
    assert "asthma" in run("find", "national_id", "111").out
    assert run("keys", "check").status == 0
