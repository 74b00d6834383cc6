"""Index status: where each index of a keyring stands, for people and for machines."""

import json
from typing import Any

from rich.console import Console

from kms.utc_text import to_the_second
from vault.changeover.in_force import read_in_force
from vault.changeover.store import ChangeoverStore
from vault.project import Project

__all__ = ["say_status"]


def say_status(console: Console, project: Project, changeovers: ChangeoverStore, *, as_json: bool) -> None:
    """A line an index: its slots with key and generation, and the phase of its changeover if one is under way."""
    keyring = project.opened.keyring
    state = read_in_force(project.opened.key_store.engine, keyring.id, keyring.name)
    told: list[dict[str, Any]] = []
    for subject in sorted({*state.pins, *(s for s in state.changeovers if s.index)}):
        change = state.changeovers.get(subject)
        pins = state.pins.get(subject, ())
        slots = {slot: {"key": pin.key_id.hex(), "generation": pin.generation} for slot, pin in pins if pin is not None}
        told.append({"index": subject.label, "slots": slots, "phase": None, "asked": None, "since": None})
        if change is None:
            told[-1]["asked"] = next(iter(slots), None)
        else:
            told[-1] |= {"phase": int(change.phase), "asked": change.asked or None, "since": change.since.isoformat()}
    if as_json:
        for one in told:
            console.print(json.dumps(one))
        return
    for one in told:
        pinned = [f"slot {s} key {pin['key']} generation {pin['generation']}" for s, pin in one["slots"].items()]
        at = "" if one["phase"] is None else f"; phase {one['phase']} of 4, asks {one['asked'] or 'nothing'}"
        console.print(f"{one['index']}: {', '.join(pinned) or 'no slot'}{at}")
    for event in [one for one in changeovers.history() if one.subject.index][-10:]:  # a field has modes, not phases
        before, after = (("-" if phase is None else str(int(phase))) for phase in (event.before, event.after))
        console.print(
            f"  {to_the_second(event.at)} {event.subject.label}: phase {before} -> {after}, {event.who}: {event.why}"
        )
