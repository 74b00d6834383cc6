"""audit show: the newest entries of the audit log, of a kind, a dataset, a principal or a time."""

import json
import re
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column, Table

from dp.ledger import Wanted
from dp.ledger.limits.copies import is_of_copies
from dp.nano import show, show_atto
from kms.utc_text import to_the_second
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy, open_keys
from vault.opened_ledger import open_ledger
from vault.reporting.change_section import what_changed
from vault.reporting.page import visible

__all__ = ["parse_moment", "show_audit", "what"]

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")
# Told in words of their own, or of no use to a reader.
_NOT_TOLD: Final = frozenset(
    {"at", "sequence", "kind", "dataset", "principal", "format", "key", "previous", "question_mac", "sealed_sha256"}
    | {"visibility", "nano_epsilon", "nano_rho", "atto_delta", "unbounded", "fields", "told"}
)


def parse_moment(text: str) -> datetime:
    """2026-01-31, or 2026-01-31T12:30, in UTC. Raises: typer.BadParameter."""
    try:
        if _MOMENT.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        pass
    raise typer.BadParameter("write a day or a moment in UTC, such as 2026-01-31 or 2026-01-31T12:30")


MomentOption = Annotated[datetime | None, typer.Option(parser=parse_moment, metavar="MOMENT", help="In UTC.")]


def show_audit(
    kind: Annotated[str | None, typer.Option(help="Such as charge, answer, repeat, refusal, policy or event.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Of this dataset.")] = None,
    principal: Annotated[str | None, typer.Option(help="Of who asked.")] = None,
    since: MomentOption = None,
    until: MomentOption = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The last N of them.")] = 50,
    policy: PolicyOption = POLICY,
    as_json: JsonOption = False,
) -> None:
    """Show the newest entries of the audit log. Each is checked by itself; `audit verify` tells what is missing.

    No entry holds a value of the data, or the text of a question.
    """
    wanted = Wanted(kind, dataset, principal, _microseconds(since), _microseconds(until), limit)
    with open_keys(policy) as keyring, closing(open_ledger(load_policy(policy), keyring)) as ledger:
        entries = ledger.entries(wanted)
    if as_json:
        for entry in entries:
            typer.echo(json.dumps(entry))
        return
    heads = ("entry", "at", "kind", "dataset", "principal", "what")
    table = Table(*(Column(head, overflow="fold") for head in heads), box=None, pad_edge=False)
    if not entries:
        typer.echo("no entry of the log is of that kind, dataset, principal and time")
        return
    for entry in entries:
        at = to_the_second(datetime.fromtimestamp(entry["at"] / 1_000_000, UTC))
        names = (str(entry.get(name, "")) for name in ("kind", "dataset", "principal"))
        table.add_row(str(entry["sequence"]), at, *names, what(entry))
    Console(markup=False, highlight=False).print(table)


def what(entry: Mapping[str, Any]) -> str:
    """What an entry costs and says, in one line."""
    if entry.get("kind") in ("policy", "lifetime"):
        name, why = entry.get("name", ""), entry.get("reason") or "none was given"
        named = f"{'copies' if is_of_copies(name) else name}: " if name else ""
        return visible(f"{named}{what_changed(entry['kind'], entry)}; reason: {why}")
    cost = [f"{name} {shown}" for name, shown in _cost(entry) if shown != "0"]
    own = [_told(name, entry[name]) for name in sorted(entry.keys() - _NOT_TOLD) if entry[name] not in (None, "", [])]
    fields = entry.get("fields")
    beside = [f"{name} {value}" for name, value in sorted(fields.items())] if isinstance(fields, Mapping) else []
    return visible(", ".join(cost + own + beside))


def _told(name: str, value: Any) -> str:
    """Amounts as a policy writes them, lists as they stand in the entry."""
    if name.endswith(("nano_epsilon", "nano_rho")):
        return f"{name.replace('nano_', '')} {show(value)}"
    if name.endswith("atto_delta"):
        return f"{name.replace('atto_', '')} {show_atto(value)}"
    return f"{name} {json.dumps(value) if isinstance(value, list) else value}"


def _cost(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "nano_epsilon" not in entry:
        return []
    in_rho = [("rho", show(entry["nano_rho"]))] if entry.get("unbounded") else []
    return [("epsilon", show(entry["nano_epsilon"] or 0)), *in_rho, ("delta", show_atto(entry["atto_delta"]))]


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp()) * 1_000_000
