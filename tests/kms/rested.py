"""Keys that changed their state long ago, and time that passes: the rows go into the past, the clocks are real."""

from datetime import datetime, timedelta

from sqlalchemy import Engine, select, update

from kms.key_database import writing
from kms.key_endings import KeyEndings
from kms.key_rows import time_text
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.keyring import Keyring

LONG_AGO = "2020-01-01T00:00:00.000000+00:00"
TIMES = ("created_at", "changed_at", "destroy_after")


def let_rest(engine: Engine) -> None:
    """As if every sealing lease and every waiting period had ended since."""
    with writing(engine) as connection:
        connection.execute(update(key_table).values(changed_at=LONG_AGO))
        connection.execute(update(key_table).where(key_table.c.state == "retired").values(destroy_after=LONG_AGO))


def let_time_pass(engine: Engine, time: timedelta) -> None:
    """As if all that the key store remembers had been that much earlier."""
    with writing(engine) as connection:
        for row in connection.execute(select(key_table)).mappings().all():
            moments = {name: datetime.fromisoformat(row[name]) for name in TIMES if row[name] is not None}
            earlier = {name: time_text(moment - time) for name, moment in moments.items()}
            connection.execute(update(key_table).where(key_table.c.key_id == row["key_id"]).values(earlier))


def retire_and_destroy(keyring: Keyring, engine: Engine, key_id: bytes) -> None:
    """As if the key had rested, and its waiting period were over."""
    let_rest(engine)
    keyring.lifecycle.retire(key_id)
    let_rest(engine)
    keyring.lifecycle.destroy(key_id)


def end_at_once(store: KeyStore, keyring_id: bytes, key_id: bytes) -> None:
    """The key is retired and destroyed without any waiting."""
    endings = KeyEndings(store, keyring_id, rest=0)
    endings.retire(key_id, timedelta(0))
    endings.destroy(key_id)
