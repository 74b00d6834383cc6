"""KEK health on the command line: a keyring whose records can be listed, whatever its key service says."""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from kms import KeyProvider, Keyring, KeyStore, KmsError, SecretKey, Wrapped
from vault.cli.options import former_settings, load_policy, provider_settings
from vault.policy import Policy
from vault.project import open_keks, require_files

__all__ = ["keks_or_why", "keyring_to_list"]

# Ours: seconds. Who looks at the list in an outage wants it now, and nothing is lost by not waiting.
LISTING_DEADLINE: Final = 1.0


class _Unopened:
    """Stands for a provider that could not be opened, and says why whenever it is asked."""

    def __init__(self, reason: KmsError) -> None:
        self._reason = reason

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:  # noqa: ARG002
        raise self._reason

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:  # noqa: ARG002
        raise self._reason


@contextmanager
def keyring_to_list(path: Path) -> Iterator[tuple[Keyring, KeyProvider, str]]:
    """The keyring of a policy, its provider, and the URI of its key-encryption key. No database of data is opened.

    A key file that is missing or a login that is incomplete is the provider's answer, not an end of the listing.
    Raises: PolicyError, and KmsError if the key store does not answer.
    """
    policy = load_policy(path)
    require_files(policy)
    provider = keks_or_why(policy, LISTING_DEADLINE)
    store = KeyStore.from_url(policy.keys_url)
    with closing(store), closing(Keyring.open(store, provider, policy.vault.keyring)) as keyring:
        yield keyring, provider, policy.vault.kek


def keks_or_why(policy: Policy, deadline: float = math.inf) -> KeyProvider:
    """The policy's key-encryption keys; where they cannot be opened, what says why whenever it is asked.

    deadline: seconds a call, if the settings do not say less. Raises: PolicyError.
    """
    try:
        both = (provider_settings(policy.vault.kek), *former_settings(policy))
        settings, *formers = (replace(one, deadline=min(one.deadline, deadline)) for one in both)
        return open_keks(policy, settings, formers)
    except KmsError as reason:
        return _Unopened(type(reason)(*reason.args))
