"""Chain: entries of the audit log one after the other, each checked to be signed and to follow the one before."""

import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from dp.errors import AuditError
from dp.ledger.answers import stored_bytes
from dp.ledger.keys import AuditMacs, Mac
from dp.ledger.log.audit import NO_MAC, AuditHead

__all__ = ["Chain", "Signatures"]


START: Final = AuditHead(0, NO_MAC)
_READ: Final = json.JSONDecoder().raw_decode


class Signatures:
    """Reads entries that are signed. To find and derive a key takes longer than a MAC, so each is looked up once."""

    def __init__(self, macs: AuditMacs) -> None:
        self._macs = macs
        self._known: dict[object, Mac] = {}

    def read(self, number: int, signed: bytes, key_id: object, mac: object) -> dict[str, Any]:
        """The entry. Raises: AuditError naming it by its number where its MAC is another one, or its key not there."""
        self.require(number, signed, key_id, mac)
        entry: dict[str, Any] = _READ(signed.decode())[0]
        return entry

    def require(self, number: int, signed: bytes, key_id: object, mac: object) -> None:
        """As read(), for who has parsed the bytes."""
        key = (self._known.get(key_id) if isinstance(key_id, str) else None) or self._key(number, key_id)
        # Of text that is no ASCII compare_digest makes an error.
        if not isinstance(mac, str) or not mac.isascii() or not hmac.compare_digest(key.compute(signed).hex(), mac):
            raise AuditError(f"audit entry {number} was changed: it is not what its MAC was made of")

    def _key(self, number: int, key_id: object) -> Mac:
        try:
            key = self._macs.by_id(bytes.fromhex(key_id))  # type: ignore[arg-type]
        except (LookupError, ValueError, TypeError):
            raise AuditError(f"audit entry {number} names key {key_id!r}, which is not there; bring it back") from None
        self._known[key_id] = key
        return key


class Chain:
    """Grows by one entry at a time."""

    def __init__(self, macs: AuditMacs, after: AuditHead = START) -> None:
        """after: the entry that was checked before, if there was one."""
        self._sequence, self._mac = after.sequence, after.mac
        self._signatures = Signatures(macs)

    @property
    def last(self) -> AuditHead:
        """The entry that was checked last."""
        return AuditHead(self._sequence, self._mac)

    def follow(
        self, sequence: object, signed: bytes, key_id: object, mac: object, entry: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The next entry, read from its signed bytes. Raises: AuditError naming it where it is not that.

        entry: what the bytes were parsed to, by who had to do so before.
        """
        self._require_next(sequence, signed, key_id, mac)
        return self._go_on(signed, key_id, mac, entry)

    def _require_next(self, sequence: object, signed: bytes, key_id: object, mac: object) -> None:
        number = self._sequence + 1
        if sequence != number:
            raise AuditError(f"audit entry {number} is missing: after {self._sequence} the log goes on with {sequence}")
        self._signatures.require(number, signed, key_id, mac)

    def _go_on(self, signed: bytes, key_id: object, mac: object, entry: dict[str, Any] | None) -> dict[str, Any]:
        number = self._sequence + 1
        if entry is None:
            entry = _READ(signed.decode())[0]
        if entry["sequence"] != number or entry["previous"] != self._mac or entry["key"] != key_id:
            raise AuditError(
                f"audit entry {number} is another one, or one before it was removed: it does not follow the last"
            )
        self._sequence, self._mac = number, str(mac)
        return entry

    def followed(
        self,
        rows: Iterable[tuple[Any, ...]],
        at_least: AuditHead | None,
        is_known: Callable[[object, object, object, str], bool] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Each row's entry once it was checked. rows: of the number, entry, key id and MAC. Raises: AuditError.

        None is kept: to read an entry into memory that was just given back takes half the time.
        is_known: whether a text, which is signed, is known to be an entry with that number, key id and previous MAC: it
            is not read then.
        """
        for sequence, text, key_id, mac in rows:
            signed = text.encode("utf-8", "replace") if isinstance(text, str) else stored_bytes(text)
            self._require_next(sequence, signed, key_id, mac)
            entry = None
            if is_known is not None and is_known(text, sequence, key_id, self._mac):
                self._sequence, self._mac = sequence, mac
            else:
                entry = self._go_on(signed, key_id, mac, None)
            if at_least is not None:
                self.require_on_the_way(at_least)
            if entry is not None:
                yield entry

    def require_checkpoint(self, at_least: AuditHead | None) -> None:
        """When all entries were followed. Raises: AuditError where they do not reach the checkpoint."""
        if at_least is not None and self._sequence < at_least.sequence:
            raise AuditError(
                f"audit entry {self._sequence + 1} is missing: the checkpoint is entry {at_least.sequence}"
            )

    def require_on_the_way(self, at_least: AuditHead) -> None:
        """After each entry. Raises: AuditError where the one with the checkpoint's number is not the checkpoint."""
        if self._sequence == at_least.sequence and self._mac != at_least.mac:
            raise AuditError(f"audit entry {self._sequence} is not the one of the checkpoint: the log was rewritten")
