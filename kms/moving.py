"""Moving: the stored data keys under the KEK of another provider, while nothing that they sealed is touched."""

from kms.each_alone import not_all, unwrapped_alone
from kms.errors import CannotUnwrapError
from kms.key_record import KeyRecord, KeyringState
from kms.key_store import KeyStore
from kms.provider import KeyProvider, Wrapped
from kms.routed_provider import RoutedProvider
from kms.secret import SecretKey

__all__ = ["move"]


def move(store: KeyStore, provider: KeyProvider, to: KeyProvider, state: KeyringState) -> list[KeyRecord]:
    """Wrap every live key of the state by `to` and store those whose row is still as it was; give these, as they were.

    Keys that are under the KEK of `to` already stay, so that a move which was stopped, or begun by somebody else, is
    done by calling again. All are stored in one transaction after both services answered and `to` gave back what it
    wrapped: whoever dies, or is refused, before its end changed nothing. A row that another process changed meanwhile
    stays as that process left it.
    Raises: KmsError; if some keys do not unwrap, after the others were moved, the first one's error with their ids.
    """
    live = [record for record in state.records if record.kept]
    keys, failures = unwrapped_alone(RoutedProvider.of(provider, to).unwrap, live)
    given = _wrapped_by(to, [record for record in live if record.key_id in keys], keys)
    stored = store.replace_wrapped([(record, given[record.key_id]) for record in live if record.key_id in given])
    if failures:
        raise not_all("moved", failures, len(live))
    return [record for record in live if record.key_id in stored]


def _wrapped_by(to: KeyProvider, records: list[KeyRecord], keys: dict[bytes, SecretKey]) -> dict[bytes, Wrapped]:
    """By key id. Which exact KEK an alias means is learnt from the first key that is wrapped by it."""
    given: dict[bytes, Wrapped] = {}
    target = ""
    for record in records:
        if record.wrapped is None or record.wrapped.kek == target:
            continue
        one = to.wrap(keys[record.key_id], record.context)
        target = target or one.kek
        if record.wrapped.kek != target:
            given[record.key_id] = one
    moved = [record for record in records if record.key_id in given]
    if to.unwrap([(given[r.key_id], r.context) for r in moved]) != [keys[r.key_id] for r in moved]:
        raise CannotUnwrapError("the new key-encryption key does not give back what it wrapped: no key was changed")
    return given
