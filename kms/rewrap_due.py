"""Rewrap due: which stored keys are wrapped by an older KEK, or KEK version, than the service wraps by now."""

from collections.abc import Sequence

from kms.key_record import KeyRecord, KeyState
from kms.provider import KeyProvider, NamesNewest, Rewraps
from kms.routed_provider import RoutedProvider

__all__ = ["rewrap_due"]


def rewrap_due(provider: KeyProvider, records: Sequence[KeyRecord]) -> list[KeyRecord]:
    """Asks the service once and changes nothing. Keys under a former KEK are not counted: those are moved.

    A service that does not name its newest version is given one key to rewrap; what it gives is thrown away but for
    the version. Raises: KmsError.
    """
    first = provider.first if isinstance(provider, RoutedProvider) else provider
    own = [record for record in records if record.wrapped is not None and _is_own(provider, first, record.wrapped.kek)]
    newest = _newest(first, own)
    return [r for r in own if r.wrapped is not None and newest not in {None, (r.wrapped.kek, r.wrapped.kek_version)}]


def _is_own(provider: KeyProvider, first: KeyProvider, kek: str) -> bool:
    return not isinstance(provider, RoutedProvider) or provider.provider_of(kek) in {None, first}


def _newest(first: KeyProvider, own: Sequence[KeyRecord]) -> tuple[str, str] | None:
    """None where nothing tells."""
    if isinstance(first, NamesNewest):
        return first.newest()
    if not own or not isinstance(first, Rewraps):
        return None
    asked = max(own, key=lambda record: (record.state is KeyState.ACTIVE, record.sequence))
    assert asked.wrapped is not None  # noqa: S101  # own are kept
    (given,) = first.rewrap([(asked.wrapped, asked.context)])
    return given.kek, given.kek_version
