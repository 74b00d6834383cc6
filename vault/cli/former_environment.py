"""Former environment: the variables that stand for one of kek_former, where it needs others than kek does."""

from collections.abc import Mapping
from typing import Final

__all__ = ["former_environment"]

PREFIX: Final = "NOISEVAULT_"


def former_environment(number: int, environment: Mapping[str, str]) -> Mapping[str, str]:
    """What the settings of kek_former's entry of that number, from 1, are read from.

    If variables NOISEVAULT_FORMER_<number>_... are set, even to nothing, they alone, without this prefix: so
    NOISEVAULT_FORMER_1_VAULT_TOKEN is a VAULT_TOKEN, and NOISEVAULT_FORMER_1_PASSPHRASE_FILE a
    NOISEVAULT_PASSPHRASE_FILE. Otherwise everything that is set.
    """
    prefix = f"{PREFIX}FORMER_{number}_"
    own = {name.removeprefix(prefix): value for name, value in environment.items() if name.startswith(prefix)}
    return own | {PREFIX + name: value for name, value in own.items()} if own else environment
