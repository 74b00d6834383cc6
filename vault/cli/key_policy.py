"""keys policy: the least-privilege policy of a role, for the service that holds the key-encryption key."""

from typing import Annotated

import typer

from kms.access_policy import access_policy
from kms.policies import Role
from vault.cli.options import POLICY, PolicyOption, load_policy, provider_settings

__all__ = ["print_policy"]


def print_policy(
    role: Annotated[
        Role,
        typer.Option(
            help="app: services. rotator: init, rotate, keys check, keys rewrap, keys move. admin: the KEK itself."
        ),
    ],
    kek: Annotated[
        list[str] | None,
        typer.Option(metavar="URI", help="The key-encryption key, instead of the policy file's. May be said again."),
    ] = None,
    policy: PolicyOption = POLICY,
) -> None:
    """Print what the key service has to allow a role, and nothing more: HCL for hcvault, IAM's JSON for awskms."""
    uris = kek or [load_policy(policy).vault.kek]
    typer.echo(access_policy(uris, role, namespace=provider_settings().namespace))
