"""Each alone: what a provider gives for many keys in one call, or for each alone where one of them spoils the call."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from kms.data_key import DATA_KEY_BYTES
from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KeyNotFoundError,
    KeyVersionRetiredError,
    KmsError,
)
from kms.key_record import KeyRecord
from kms.provider import Wrapped
from kms.secret import SecretKey

__all__ = ["Asked", "all_or_each_alone", "not_all", "unwrapped_alone"]

Given = TypeVar("Given")
Pairs = Sequence[tuple[Wrapped, bytes]]
Asked = tuple[dict[bytes, Given], dict[bytes, KmsError]]

# What may be so for one key and not for the next; anything else is so for all of them.
OF_ONE_KEY: Final = (AccessDeniedError, CannotUnwrapError, KeyDisabledError, KeyNotFoundError, KeyVersionRetiredError)


def all_or_each_alone(work: Callable[[Pairs], list[Given]], records: Sequence[KeyRecord]) -> Asked[Given]:
    """What work gives for each kept record, and why it gives nothing, both by key id.

    work: a provider's call, all or nothing. Raises: KmsError that is not of one key, such as an outage.
    """
    pairs = {record.key_id: (record.wrapped, record.context) for record in records if record.wrapped is not None}
    if not pairs:
        return {}, {}
    try:
        return dict(zip(pairs, work(list(pairs.values())), strict=True)), {}
    except OF_ONE_KEY as error:
        if len(pairs) == 1:
            return {}, dict.fromkeys(pairs, error)
    given: dict[bytes, Given] = {}
    failures: dict[bytes, KmsError] = {}
    for key_id, pair in pairs.items():
        try:
            (given[key_id],) = work([pair])
        except OF_ONE_KEY as error:
            failures[key_id] = error
    return given, failures


def unwrapped_alone(unwrap: Callable[[Pairs], list[SecretKey]], records: Sequence[KeyRecord]) -> Asked[SecretKey]:
    """As all_or_each_alone, for keys in the clear: one of another length than ours have was made by somebody else."""
    keys, failures = all_or_each_alone(unwrap, records)
    for key_id in [key_id for key_id, key in keys.items() if len(key.raw) != DATA_KEY_BYTES]:
        size = len(keys.pop(key_id).raw)
        failures[key_id] = CannotUnwrapError(
            f"a wrapped key opens to {size} bytes, and a data key has {DATA_KEY_BYTES}: its row was changed, restore it"
            " from a backup"
        )
    return keys, failures


def not_all(done: str, failures: dict[bytes, KmsError], live: int) -> KmsError:
    """The first error, with the ids of all the keys that each reason keeps back. done: what was to be done to them."""
    first, *_ = failures.values()
    by_reason: dict[str, list[str]] = {}
    for key_id, error in failures.items():
        by_reason.setdefault(str(error), []).append(key_id.hex())
    said = "; ".join(f"key {', '.join(ids)}: {reason}" for reason, ids in by_reason.items())
    others = ", the others are" if len(failures) < live else ""
    return type(first)(f"{len(failures)} of {live} keys are not {done}{others}: {said}")
