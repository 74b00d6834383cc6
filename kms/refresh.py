"""Refresh: what a keyring reads and unwraps anew before it is due, so that nobody who uses it has to wait.

The deterministic core of the background: time and jitter are arguments, and whoever calls step() does the waiting.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kms.data_key import ENDED
from kms.errors import KmsError, UnavailableError
from kms.key_record import KeyRecord, KeyringState, Purpose
from kms.lease import Clock, LeaseSettings
from kms.seal_counter import SealCounter
from kms.state_lease import StateLease
from kms.unwrapped import RETRY_SECONDS, UnwrappedKeys

__all__ = ["Refresh", "RefreshParts"]

# Ours: which part of a lease passes before it is renewed, evenly spread, so that a fleet that was started at once does
# not ask at once for ever. Callers begin to ask by themselves at 2/3 and 1.
STATE_PARTS: Final = (1 / 2, 1 / 6)
KEY_PARTS: Final = (0.7, 0.2)
# Ours: a key is renewed with those that are due when less than this part of its lease is left.
TOGETHER: Final = 1 / 2
# Ours: seconds after which to look again even when nothing is due: suspension does not shorten a sleep.
LONGEST_SLEEP: Final = 30.0
SHORTEST_SLEEP: Final = 0.01
LOOKS_A_LEASE: Final = 6

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RefreshParts:
    """What a keyring consists of.

    reload: reads the state and tells the keyring. end_sealing: ends the leases of the keys that seal, whose holders
    then ask again. sealed: the purposes that this process seals for, as they become known. renew_beside: renews the
    leases on what lies beside the keys, and tells when to call again. is_closed: whether the keyring was closed.
    """

    state: StateLease[KeyringState]
    keys: UnwrappedKeys
    counter: SealCounter
    reload: Callable[[], KeyringState]
    end_sealing: Callable[[], None]
    sealed: Collection[Purpose]
    renew_beside: Callable[[], float]
    is_closed: Callable[[], bool]


class Refresh:
    """Of one keyring; for one thread."""

    def __init__(
        self, name: str, leases: LeaseSettings, clock: Clock, jitter: Callable[[], float], parts: RefreshParts
    ) -> None:
        """jitter: evenly from 0 to 1."""
        self._name = name
        self._leases = leases
        self._clock = clock
        self._jitter = jitter
        self._state = parts.state
        self._keys = parts.keys
        self._counter = parts.counter
        self._reload = parts.reload
        self._end_sealing = parts.end_sealing
        self._sealed = parts.sealed
        self._renew_beside = parts.renew_beside
        self._is_closed = parts.is_closed
        self._sleep = min(LONGEST_SLEEP, leases.sealing / LOOKS_A_LEASE, leases.unwrapped_soft / LOOKS_A_LEASE)
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """Begin anew."""
        self._seen = self._state.state
        self._not_before = {"state": ENDED, "count": ENDED}
        self._told = {"store": "", "service": ""}  # the outages that were logged
        self._draw_state()
        self._draw_keys()

    def step(self) -> float:
        """Do what is due, and say in how many seconds to call again."""
        due = min(self._read(), self._unwrap(), self._renew_beside())
        self._count_ahead()
        return max(SHORTEST_SLEEP, min(self._sleep, due - self._clock()))

    def successor(self, key_id: bytes) -> bytes | None:
        """The id of the key that seals now for the purpose of the key with that id."""
        state = self._state.state
        record = state.find(key_id)
        active = None if record is None else state.active(record.purpose)
        return None if active is None else active.key_id

    def _read(self) -> float:
        """Read the state if it is due; when it is next."""
        if self._clock() >= self._state_at():
            self._draw_state()
            try:
                self._reload()
            except UnavailableError as error:
                self._tell("store", f"it seals on for {self._leases.sealing:g} s at most: {error}")
            except KmsError as error:
                if self._is_closed():  # while this step was on its way: nothing is amiss
                    return float("inf")
                self._not_before["state"] = self._clock() + RETRY_SECONDS
                self._state.end()
                self._end_sealing()
                _log.warning("keyring %r cannot be read, so it seals and opens no more: %s", self._name, error)
            else:
                self._told["store"] = ""
        return self._state_at()

    def _state_at(self) -> float:
        due = self._state.asked + self._state_part * self._leases.sealing
        return max(due, self._state.retry_at, self._not_before["state"])

    def _unwrap(self) -> float:
        """Unwrap what is due, and keys that came into being; when something is due next."""
        state = self._state.state
        self._look_for_new(state)
        if self._clock() >= self._keys_at():
            self._draw_keys()
            held = {held.key.key_id for held in self._keys.all_held()}
            wanted = [record for record in state.records if record.key_id in held | self._keys.wanted]
            soon = self._clock() + max(RETRY_SECONDS, TOGETHER * self._leases.unwrapped_soft)
            failures = self._keys.refresh(wanted, soon)
            if self._clock() >= self._keys.retry_at:
                self._told["service"] = ""
            else:
                lives = f"{self._leases.unwrapped_hard:g} s after they were last unwrapped"
                self._tell("service", f"its keys are used until {lives}: {self._keys.outage}")
            self._end({k: v for k, v in failures.items() if k in held or not isinstance(v, UnavailableError)})
        return self._keys_at()

    def _keys_at(self) -> float:
        asked = [held.asked for held in self._keys.all_held()]
        due = min(asked, default=float("inf")) + self._key_part * self._leases.unwrapped_soft
        return max(ENDED if self._keys.wanted else due, self._keys.retry_at)

    def _look_for_new(self, state: KeyringState) -> None:
        """A key is waited for here if this process uses keys of its purpose and has not met it."""
        if state is self._seen:
            return
        known, self._seen = {record.key_id for record in self._seen.records}, state
        held = {held.key.key_id: held.key.purpose for held in self._keys.all_held()}
        used = {*held.values(), *self._sealed}
        for record in state.records:
            if record.live and record.key_id not in held and record.purpose in used and self._is_new(record, known):
                self._keys.wanted.add(record.key_id)

    def _is_new(self, record: KeyRecord, known: Collection[bytes]) -> bool:
        seals = record.purpose in self._sealed and record == self._seen.active(record.purpose)
        return seals or record.key_id not in known

    def _end(self, failures: dict[bytes, KmsError]) -> None:
        """The keys are not held any more; who seals by them learns it at the next seal."""
        if failures:
            self._end_sealing()
        for key_id, error in failures.items():
            _log.warning("key %s of keyring %r does not open and is forgotten: %s", key_id.hex(), self._name, error)

    def _count_ahead(self) -> None:
        if self._clock() >= self._not_before["count"]:
            self._not_before["count"] = self._clock() + RETRY_SECONDS
            with suppress(KmsError):  # whoever seals is told
                self._counter.top_up(self.successor)
                self._not_before["count"] = ENDED

    def _tell(self, what: str, outage: str) -> None:
        if outage != self._told[what]:
            _log.warning("keyring %r: its key %s is unavailable, %s", self._name, what, outage)
        self._told[what] = outage

    def _draw_state(self) -> None:
        least, spread = STATE_PARTS
        self._state_part = least + spread * self._jitter()

    def _draw_keys(self) -> None:
        least, spread = KEY_PARTS
        self._key_part = least + spread * self._jitter()
