"""KEK health: whether the key-encryption keys that a keyring's records name answer, told by one unwrap each."""

from collections.abc import Sequence
from dataclasses import dataclass

from kms.errors import KmsError, UnavailableError
from kms.key_record import KeyRecord, KeyState
from kms.provider import KeyProvider
from kms.routed_provider import RoutedProvider

__all__ = ["KekHealth", "kek_health"]


@dataclass(frozen=True, slots=True)
class KekHealth:
    """kek: the exact key, as the records name it. failure: why it does not unwrap; None if it does."""

    kek: str
    failure: KmsError | None = None

    def __str__(self) -> str:
        """In words: it answers, does not answer, or refuses, and why."""
        if self.failure is None:
            return "answers"
        return f"{'does not answer' if isinstance(self.failure, UnavailableError) else 'refuses'}: {self.failure}"


def kek_health(provider: KeyProvider, records: Sequence[KeyRecord]) -> list[KekHealth]:
    """One for each KEK that wraps a key of the records, by name. Needs what every service may: to unwrap.

    One key a KEK is unwrapped, which is thrown away; whether all of them do, KeyLifecycle.check() says. A service that
    does not answer is not asked again: its other keys share the outage.
    """
    by_need = sorted(records, key=_most_needed_last)
    keys = {record.wrapped.kek: record for record in by_need if record.wrapped is not None}
    found: list[KekHealth] = []
    outages: dict[int, KmsError] = {}
    for kek, record in sorted(keys.items()):
        asked = provider.provider_of(kek) or provider.first if isinstance(provider, RoutedProvider) else provider
        failure = outages.get(id(asked)) or _failure(asked, record)
        if isinstance(failure, UnavailableError):
            outages[id(asked)] = failure
        found.append(KekHealth(kek, failure))
    return found


def _most_needed_last(record: KeyRecord) -> tuple[bool, int]:
    return record.state is KeyState.ACTIVE, record.sequence


def _failure(provider: KeyProvider, record: KeyRecord) -> KmsError | None:
    if record.wrapped is None:
        return None
    try:
        provider.unwrap([(record.wrapped, record.context)])
    except KmsError as failure:
        return type(failure)(*failure.args)  # without the frames of its making
    return None
