"""Key refusal: what a field says when the key that its data names is unknown, retired or destroyed."""

from typing import Final

from kms.errors import KeyDestroyedError, KeyRetiredError, UnknownKeyIdError
from kms.utc_text import to_the_minute
from vault.errors import DestroyedKeyError, RetiredKeyError, UnknownKeyError

__all__ = ["NOT_TO_BE_HAD", "key_refusal"]

NOT_TO_BE_HAD: Final = (UnknownKeyIdError, KeyDestroyedError, KeyRetiredError)


def key_refusal(
    table: str, column: str, key_id: bytes, error: UnknownKeyIdError | KeyDestroyedError | KeyRetiredError
) -> UnknownKeyError:
    """The field's own error for the keyring's, to be raised without a chain."""
    match error:
        case KeyRetiredError():
            times = (to_the_minute(error.since), to_the_minute(error.until))
            return RetiredKeyError(table, column, key_id.hex(), *times)
        case KeyDestroyedError():
            return DestroyedKeyError(table, column, key_id.hex())
        case _:
            return UnknownKeyError(table, column, key_id.hex())
