"""Options: what all commands share, read once from the command line and the environment."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kms import ProviderSettings, SecretText
from vault.policy import Policy
from vault.project import Project, policy_beside, require_files

PolicyOption = Annotated[Path, typer.Option("--policy", "-p", help="The policy file.", metavar="FILE")]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
POLICY = Path("noisevault.toml")


def provider_settings() -> ProviderSettings:
    """What the key service needs, from the variables that Vault and OpenBao users already have."""
    token = os.environ.get("VAULT_TOKEN") or os.environ.get("BAO_TOKEN")
    return ProviderSettings(
        token=SecretText(token) if token else None,
        namespace=os.environ.get("VAULT_NAMESPACE") or os.environ.get("BAO_NAMESPACE"),
        ca_file=os.environ.get("VAULT_CACERT") or os.environ.get("BAO_CACERT"),
        allow_plain_http_to_loopback=os.environ.get("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK") == "1",
    )


def load_policy(path: Path) -> Policy:
    return policy_beside(path)


def open_project(path: Path) -> Project:
    policy = policy_beside(path)
    require_files(policy)
    project = Project.open(policy, provider_settings())
    project.require_tables()
    return project
