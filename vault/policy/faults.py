"""Faults: everything that is wrong in a policy file, a line each, every line naming its dotted key."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vault.errors import PolicyError
from vault.policy.allowance import Allowance, Group, Windows
from vault.policy.bounds import Bounds
from vault.policy.dataset import DatasetPolicy
from vault.policy.declared_expression import DeclaredExpression
from vault.policy.maintenance import Maintenance
from vault.policy.section import Section
from vault.policy.shared_lifetime import SharedLifetime
from vault.policy.storage import Storage
from vault.policy.table import ONE, SEVERAL, ColumnPolicy, CompoundPolicy, IndexPolicy, TablePolicy
from vault.policy.unknown_groups import UnknownGroups

# What pydantic says, in words for someone who writes the file. Others are shown as pydantic says them.
_WORDS = {
    "missing": "is missing",
    "bool_type": "expected true or false",
    "int_type": "expected a whole number, without quotes",
    "string_type": "expected text, in quotes",
    "tuple_type": "expected a list, such as [...]",
    "dict_type": "expected a section of keys and values",
    "model_type": "expected a section of keys and values",
    "too_short": "is empty",
}

# Where each section stands; * is any name or number.
_SECTIONS: Final[tuple[tuple[str, type[Section]], ...]] = (
    ("vault", Storage),
    ("maintenance", Maintenance),
    ("table.*", TablePolicy),
    ("table.*.column.*", ColumnPolicy),
    ("table.*.column.*.index", IndexPolicy),
    ("table.*.column.*.index.*", IndexPolicy),
    ("table.*.index.*", CompoundPolicy),
    ("dataset.*", DatasetPolicy),
    ("dataset.*.bounds.*", Bounds),
    ("dataset.*.expressions.*", DeclaredExpression),
    ("dataset.*.unknown.*", UnknownGroups),
    ("dataset.*.budget", Windows),
    ("dataset.*.column.*", Allowance),
    ("dataset.*.each_analyst", Allowance),
    ("dataset.*.analyst.*", Allowance),
    ("dataset.*.group.*", Group),
    ("lifetime.*", SharedLifetime),
)


class PolicyFaultsError(PolicyError):
    """A policy file that cannot be used. faults: one line each, "dotted.key: what is wrong"."""

    def __init__(self, file: str, faults: Iterable[str]) -> None:
        self.file, self.faults = file, tuple(faults)
        super().__init__(self.file, self.faults)

    def __str__(self) -> str:
        return "\n".join(f"{self.file}: {fault}" for fault in self.faults)


def shape_faults(errors: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines for pydantic's own errors, without the input that they hold."""
    lines = (_line(error) for error in errors)
    return list(dict.fromkeys(lines))


def _line(error: Mapping[str, Any]) -> str:
    place = tuple(error["loc"])
    if place[-1:] == ("[key]",):  # a name in a section, not a value
        place = place[:-1]
    place = tuple(part for part in place if part not in (ONE, SEVERAL))
    kind = error["type"]
    if kind == "extra_forbidden":
        said = f"unknown key; there are: {', '.join(_keys_of(place[:-1]))}"
    elif kind == "literal_error":
        said = f"expected {error['ctx']['expected']}"
    else:
        said = _WORDS.get(kind, error["msg"])
    return f"{dotted(place)}: {said}"


def dotted(place: Iterable[str | int]) -> str:
    """A key as one writes it: ("table", "t", "key", 0) is table.t.key[0]."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the policy"


def _keys_of(place: tuple[str | int, ...]) -> list[str]:
    section = next((section for pattern, section in _SECTIONS if _is_at(place, pattern)), None)
    if section is None:
        return ["vault", "table", "dataset", "lifetime", "maintenance"]
    return [field.alias or name for name, field in section.model_fields.items()]


def _is_at(place: tuple[str | int, ...], pattern: str) -> bool:
    parts = pattern.split(".")
    return len(place) == len(parts) and all(part in ("*", at) for part, at in zip(parts, place, strict=True))
