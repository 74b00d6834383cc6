"""Rewrapping: the stored data keys under the newest KEK, or KEK version, while nothing that they sealed is touched."""

from collections.abc import Sequence

from kms.each_alone import Asked, all_or_each_alone, not_all, unwrapped_alone
from kms.errors import CannotUnwrapError, KmsError, MisconfiguredError
from kms.key_record import KeyRecord, KeyringState
from kms.key_store import KeyStore
from kms.provider import KeyProvider, NamesNewest, Rewraps, Wrapped
from kms.routed_provider import RoutedProvider

__all__ = ["rewrap"]


def rewrap(store: KeyStore, provider: KeyProvider, state: KeyringState) -> list[KeyRecord]:
    """Wrap every kept key of the state anew and store those whose row is still as it was; give these, as they were.

    They are stored in one transaction after the service was asked: whoever dies before its end changed nothing, and
    what was not stored still unwraps, so it is done again by calling again. A row that another process rewrapped
    meanwhile, or a key that it destroyed, stays as that process left it.
    Keys under a former KEK are not moved by the way: rewrapping stays within the one that wraps.
    Raises: KmsError; if some keys cannot be rewrapped, after the others were, the first one's error with their ids.
    """
    records, elsewhere = _by_kek(provider, state.records)
    provider = provider.first if isinstance(provider, RoutedProvider) else provider
    if isinstance(provider, Rewraps):
        given, failures = all_or_each_alone(provider.rewrap, records)
        _require_same_keys(provider, records, given)
    else:
        given, failures = _in_this_process(provider, records)
    failures |= elsewhere
    kept = [record for record in state.records if record.kept]
    stored = store.replace_wrapped([(record, given[record.key_id]) for record in kept if record.key_id in given])
    if failures:
        raise not_all("rewrapped", failures, len(kept))
    return [record for record in kept if record.key_id in stored]


def _by_kek(provider: KeyProvider, records: Sequence[KeyRecord]) -> tuple[list[KeyRecord], dict[bytes, KmsError]]:
    """The records that the wrapping KEK can rewrap, and why the others stay."""
    if not isinstance(provider, RoutedProvider):
        return list(records), {}
    elsewhere: dict[bytes, KmsError] = {}
    for record in records:
        if record.wrapped is not None and provider.provider_of(record.wrapped.kek) not in {None, provider.first}:
            elsewhere[record.key_id] = MisconfiguredError(
                f"wrapped by {record.wrapped.kek}, which is a former key-encryption key here: move the keys first, by"
                " `noisevault keys move`"
            )
    return [record for record in records if record.key_id not in elsewhere], elsewhere


def _require_same_keys(provider: KeyProvider, records: Sequence[KeyRecord], given: dict[bytes, Wrapped]) -> None:
    """The old bytes are overwritten: a service that gave other ones than it should would take everything with them."""
    old = [(r.wrapped, r.context) for r in records if r.wrapped is not None and r.key_id in given]
    new = [(given[r.key_id], r.context) for r in records if r.key_id in given]
    if new and provider.unwrap(new) != provider.unwrap(old):
        raise CannotUnwrapError("the key service gave back other keys than it was given: no key was changed")


def _in_this_process(provider: KeyProvider, records: Sequence[KeyRecord]) -> Asked[Wrapped]:
    """Unwrap and wrap what is not of the newest KEK yet; only where it is known beforehand which one that is."""
    if not isinstance(provider, NamesNewest):
        raise MisconfiguredError(
            f"{type(provider).__name__} cannot rewrap: it neither moves wrapped keys by itself nor says which"
            " key-encryption key is its newest"
        )
    newest = provider.newest()
    old = [r for r in records if r.wrapped is not None and (r.wrapped.kek, r.wrapped.kek_version) != newest]
    contexts = {record.key_id: record.context for record in old}
    keys, failures = unwrapped_alone(provider.unwrap, old)
    given = {key_id: provider.wrap(key, contexts[key_id]) for key_id, key in keys.items()}
    if given and provider.unwrap([(one, contexts[key_id]) for key_id, one in given.items()]) != list(keys.values()):
        raise CannotUnwrapError("the provider does not give back what it wrapped: no key was changed")
    return given, failures
