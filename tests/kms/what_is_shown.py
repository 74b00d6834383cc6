"""All that a log, an error tracker or a crash report could show, and the spellings of a secret in it."""

import base64
import copy
import logging
import pickle
import traceback
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

OURS = "/tests/"  # frames of the tests hold the secrets on purpose


def spellings(secret: bytes | str) -> set[str]:
    """How a secret may be written, unframed: as it is, as a literal, in hexadecimal, base64 and URLs."""
    raw = secret.encode() if isinstance(secret, str) else secret
    numbers = ", ".join(str(byte) for byte in raw)
    encoded = {encode(raw).decode() for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.b32encode)}
    found = {repr(raw)[2:-1], raw.hex(), raw.hex().upper(), numbers, urllib.parse.quote(raw), *encoded}
    found |= {secret} if isinstance(secret, str) else {raw.decode("latin-1")}
    return found | {one.rstrip("=") for one in encoded}


@dataclass
class Shown:
    """Grows while watching(). text: all of it."""

    parts: list[str] = field(default_factory=list)

    def add_error(self, error: BaseException) -> None:
        """Messages, attributes and frames with their variables, along the whole chain, suppressed or not."""
        waiting: list[BaseException | None] = [error]
        seen: set[int] = set()
        while waiting:
            one = waiting.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
            told = traceback.TracebackException(type(one), one, one.__traceback__, capture_locals=True)
            told.stack[:] = [frame for frame in told.stack if OURS not in frame.filename]
            told.__cause__ = told.__context__ = None
            kept = (one.args, getattr(one, "__dict__", {}), getattr(one, "__notes__", []))
            self.parts += [*told.format(), str(one), repr(one), repr(kept)]

    def add_object(self, held: object) -> None:
        """How it prints, and what a pickle or a copy of it holds; to refuse both is right."""
        self.parts += [str(held), repr(held), format(held)]
        for attempt in (lambda: pickle.dumps(held), lambda: pickle.dumps(copy.deepcopy(held))):
            try:
                self.parts.append(attempt().decode("latin-1"))
            except Exception as refused:  # whatever it is, nothing was written; copies half made do not even print
                self.parts.append(repr(refused))

    def require_none_of(self, *secrets: bytes | str) -> None:
        text = "\n".join(self.parts)
        for secret in secrets:
            assert len(secret) >= 10, "short secrets are found everywhere"
            for spelling in spellings(secret):
                at = text.find(spelling)
                assert at < 0, f"shown: ...{text[max(0, at - 400) : at + len(spelling) + 100]}..."


class _All(logging.Handler):
    def __init__(self, shown: Shown) -> None:
        super().__init__(logging.NOTSET)
        self._shown = shown

    def emit(self, record: logging.LogRecord) -> None:
        self._shown.parts += [record.getMessage(), repr(record.args), repr(record.__dict__)]
        if record.exc_info and record.exc_info[1] is not None:
            self._shown.add_error(record.exc_info[1])


@contextmanager
def watching() -> Iterator[Shown]:
    """All that is logged meanwhile, at DEBUG, by whomever."""
    shown, root = Shown(), logging.getLogger()
    handler, level = _All(shown), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield shown
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
