"""Keys move from a local file to OpenBao, AWS, a PKCS#11 token and a file under a passphrase, and nothing stops."""

from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from tests.kms.providers.aws import Aws
from tests.kms.providers.transit import Transit
from tests.servers.softhsm import Token
from tests.vault.cli.conftest import Run
from vault.cli.options import open_project
from vault.project import Project

POLICY: Final = "noisevault.toml"


class Steps:
    """The policy of all services, which an operator edits between two steps."""

    def __init__(self, folder: Path) -> None:
        self.policy = folder / POLICY
        self.kek, self.former = "local:kek", ""

    def write(self, kek: str, former: str = "") -> None:
        def said(kek: str, former: str) -> str:
            return f'kek = "{kek}"\n' + (f'kek_former = ["{former}"]\n' if former else "")

        text = self.policy.read_text()
        assert said(self.kek, self.former) in text
        self.policy.write_text(text.replace(said(self.kek, self.former), said(kek, former)))
        self.kek, self.former = kek, former


def rows(project: Project) -> list[tuple[object, ...]]:
    with project.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT * FROM visit ORDER BY person, year"))]


def opens(project: Project) -> bool:
    """Whether a service that holds no key opens every value."""
    project.opened.keyring.forget_after_fork()
    table = project.table("visit")
    with project.engine.connect() as connection:
        found = connection.execute(table.select().order_by(*table.primary_key.columns)).mappings().all()
    return [row["diagnosis"] for row in found] == ["asthma", "gout", "", None]


@pytest.mark.openbao
def test_keys_move_through_every_provider_while_a_service_goes_on(
    loaded: Run, transit: Transit, aws: Aws, token: Token, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", transit.server.root_token)
    monkeypatch.setenv("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", aws.url)
    passphrase = tmp_path / "passphrase"
    passphrase.touch(0o600)
    passphrase.write_text("correct horse battery staple\n")
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(passphrase))
    assert loaded("keys", "new-file", "last", "--passphrase").status == 0
    monkeypatch.delenv("NOISEVAULT_PASSPHRASE_FILE")

    arn = aws.create_key()
    aws.admin.create_alias(AliasName=f"alias/{transit.mount[5:13]}", TargetKeyId=arn)
    alias = f"awskms://alias/{transit.mount[5:13]}?region=eu-central-1"
    steps = Steps(tmp_path)
    with open_project(Path(POLICY)) as project:
        stored = rows(project)
    recorded = {alias: f"awskms://{arn}", token.uri(): f"pkcs11:serial={token.serial}"}
    for to in (transit.uri(), alias, token.uri(), "local:last"):
        before, last = steps.kek, to == "local:last"
        if last:
            monkeypatch.setenv("NOISEVAULT_FORMER_1_PASSPHRASE_FILE", str(passphrase))
        steps.write(before, to)
        with open_project(Path(POLICY)) as told:
            assert opens(told)
            moved = loaded("keys", "move", "--to", to)
            assert moved.status == 0, moved.err
            assert "3 of 3 keys moved\n" in moved.out
            assert recorded.get(to, to.partition(":")[0]) in moved.out
            assert opens(told)  # nothing was changed in the service yet
            assert loaded("keys", "check").status == 0
            if last:
                monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(passphrase))
                monkeypatch.delenv("NOISEVAULT_FORMER_1_PASSPHRASE_FILE")
            steps.write(to, before)
            with open_project(Path(POLICY)) as half_told:
                assert opens(half_told)
            steps.write(to)
            with open_project(Path(POLICY)) as new:
                assert opens(new)
            assert rows(told) == stored
    assert loaded("check").status == 0
    (tmp_path / "kek").unlink()
    aws.admin.schedule_key_deletion(KeyId=arn.rpartition("/")[2])
    assert loaded("rotate").status == 0
    assert loaded("reencrypt").status == 0
    assert loaded("check").status == 0
