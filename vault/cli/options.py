"""Options: what all commands share, read once from the command line and the environment."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine, MetaData, create_engine

from kms import KeyFileError, Keyring, ProviderSettings, SecretText
from kms.private_file import read_private_file
from kms.providers.local import is_passphrase_protected
from vault.cli.former_environment import former_environment
from vault.cli.models import load_models
from vault.cli.vault_login import vault_login
from vault.errors import PolicyError
from vault.policy import Policy
from vault.project import Project, open_keyring, policy_beside, require_files

PolicyOption = Annotated[Path, typer.Option("--policy", "-p", help="The policy file.", metavar="FILE")]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
POLICY = Path("noisevault.toml")


DEADLINE = "NOISEVAULT_KEY_DEADLINE"
PASSPHRASE_FILE = "NOISEVAULT_PASSPHRASE_FILE"  # noqa: S105  # the name of a variable


def provider_settings(kek: str = "", environment: Mapping[str, str] = os.environ) -> ProviderSettings:
    """What the key service needs, from the variables that Vault, OpenBao and AWS users already have.

    kek: the key's URI; if it is a local file with a passphrase, that is read from the file that
    NOISEVAULT_PASSPHRASE_FILE names, or asked for. Raises: PolicyError, KeyFileError.
    """
    token = _vault(environment, "TOKEN")
    client_cert, client_key = _vault(environment, "CLIENT_CERT"), _vault(environment, "CLIENT_KEY")
    if client_key and not client_cert:
        raise PolicyError("VAULT_CLIENT_KEY or BAO_CLIENT_KEY is set: set VAULT_CLIENT_CERT too")
    return ProviderSettings(
        token=SecretText(token) if token else None,
        login=vault_login(environment) if kek.strip().lower().startswith("hcvault:") else None,
        namespace=_vault(environment, "NAMESPACE"),
        ca_file=_vault(environment, "CACERT"),
        client_cert=client_cert,
        client_key=client_key,
        deadline=_deadline(environment),
        aws_endpoint=environment.get("AWS_ENDPOINT_URL_KMS") or environment.get("AWS_ENDPOINT_URL") or None,
        allow_plain_http_to_loopback=environment.get("NOISEVAULT_PLAIN_HTTP_TO_LOOPBACK") == "1",
        passphrase=_passphrase_of(local_key_file(kek), environment),
    )


def former_settings(policy: Policy) -> list[ProviderSettings]:
    """What each of kek_former needs, in order. Raises: PolicyError, KeyFileError."""
    return [
        provider_settings(kek, former_environment(number, os.environ))
        for number, kek in enumerate(policy.vault.kek_former, start=1)
    ]


def _vault(environment: Mapping[str, str], name: str) -> str | None:
    """The variable of Vault, or else of OpenBao; None where it is empty."""
    return environment.get(f"VAULT_{name}") or environment.get(f"BAO_{name}") or None


def _deadline(environment: Mapping[str, str]) -> float:
    """Seconds. Raises: PolicyError unless a call may take as many."""
    said = environment.get(DEADLINE)
    try:
        return (ProviderSettings(deadline=float(said)) if said else ProviderSettings()).deadline
    except ValueError:
        raise PolicyError(f"{DEADLINE} is a number of seconds, more than 0 and at most 86400") from None


def local_key_file(kek: str) -> Path | None:
    """The file of a local key-encryption key; None for a key service."""
    scheme, _, path = kek.strip().partition(":")
    return Path(path) if scheme.lower() == "local" and path else None


def read_passphrase(*, confirm: bool = False, environment: Mapping[str, str] = os.environ) -> SecretText:
    """One line, from the file that NOISEVAULT_PASSPHRASE_FILE names, or typed without being shown.

    confirm: have it typed twice. Raises: PolicyError where nobody can type, KeyFileError.
    """
    file = environment.get(PASSPHRASE_FILE)
    if file:
        return _line_of(Path(file))
    if not sys.stdin.isatty():
        raise PolicyError(f"the key file has a passphrase: name a file of mode 0600 that holds it by {PASSPHRASE_FILE}")
    return SecretText(
        typer.prompt("passphrase of the key file", hide_input=True, confirmation_prompt=confirm, err=True)
    )


def _passphrase_of(file: Path | None, environment: Mapping[str, str]) -> SecretText | None:
    """A named passphrase is given even to a file without one, which then is refused: it may have been exchanged."""
    if file is None or not file.exists():
        return None
    if environment.get(PASSPHRASE_FILE) or is_passphrase_protected(file):
        return read_passphrase(environment=environment)
    return None


def _line_of(file: Path) -> SecretText:
    content = read_private_file(file, "passphrase file").rstrip(b"\r\n")
    try:
        line = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        line = ""
    if not line or "\n" in line:
        del content, line  # no frame of an error keeps a passphrase
        raise KeyFileError(f"the passphrase file {file} holds one line of UTF-8")
    return SecretText(line)


def load_policy(path: Path, mapped: MetaData | None = None) -> Policy:
    return policy_beside(path, mapped)


@contextmanager
def open_keys(path: Path) -> Iterator[Keyring]:
    """The keyring of a policy, without its tables; closed at the end."""
    policy = policy_beside(path)
    require_files(policy)
    keyring, store = open_keyring(policy, provider_settings(policy.vault.kek), former_settings(policy))
    with closing(store), closing(keyring):
        yield keyring


@contextmanager
def open_database(path: Path, models: str | None = None) -> Iterator[Engine]:
    """The database of a policy, without its keys and tables; its connections are closed at the end."""
    policy = policy_beside(path, load_models(models))
    require_files(policy)
    engine = create_engine(policy.database_url, hide_parameters=True)
    try:
        yield engine
    finally:
        engine.dispose()


def require_named(policy: Policy) -> None:
    """Raises: PolicyError where neither the policy nor --models has named a table."""
    if not policy.table:
        raise PolicyError(
            "the policy has no [table]: name tables there, or your mapped classes by --models MODULE:BASE"
        )


@contextmanager
def open_project(path: Path, models: str | None = None, *, registered: bool = True) -> Iterator[Project]:
    """Closed at the end. models: the mapped classes that are the tables, for a policy that names none.

    registered: as Project.open.
    """
    mapped = load_models(models)
    policy = policy_beside(path, mapped)
    require_named(policy)
    require_files(policy)
    settings, formers = provider_settings(policy.vault.kek), former_settings(policy)
    with closing(Project.open(policy, settings, formers, mapped, registered=registered)) as project:
        project.require_tables()
        yield project
