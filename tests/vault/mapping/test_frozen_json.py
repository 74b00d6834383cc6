import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from vault.mapping.frozen_json import FrozenDict, FrozenList, frozen, thawed

VALUE = {"a": [1, {"b": [2]}], "c": {"d": None}}
CHANGES: list[Callable[[Any], Any]] = [
    lambda v: v.__setitem__("a", 1), lambda v: v.__delitem__("a"), lambda v: v.pop("a"), lambda v: v.popitem(),
    lambda v: v.clear(), lambda v: v.update(a=1), lambda v: v.setdefault("z", 1), lambda v: v.__ior__({"z": 1}),
    lambda v: v["c"].update(d=1), lambda v: v["a"].append(1), lambda v: v["a"].extend([1]), lambda v: v["a"].pop(),
    lambda v: v["a"].insert(0, 1), lambda v: v["a"].remove(1), lambda v: v["a"].sort(), lambda v: v["a"].reverse(),
    lambda v: v["a"].clear(), lambda v: v["a"].__setitem__(0, 1), lambda v: v["a"].__delitem__(0),
    lambda v: v["a"].__iadd__([1]), lambda v: v["a"].__imul__(2), lambda v: v["a"][1]["b"].append(1),
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_k05_05_no_part_changes_in_place(change: Callable[[Any], Any]) -> None:
    value = frozen(VALUE)
    with pytest.raises(TypeError, match=r"change a copy, copy\.deepcopy\(value\), and assign that"):
        change(value)
    assert value == VALUE


def test_every_method_that_changes_a_dict_or_list_is_refused() -> None:
    reading = {"copy", "fromkeys", "get", "items", "keys", "values", "count", "index"}
    for frozen_type in (FrozenDict, FrozenList):
        (plain,) = frozen_type.__bases__
        methods = {name for name in vars(plain) if not name.startswith("_")} - reading
        methods |= {
            name for name in ("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__") if name in vars(plain)
        }
        assert methods <= vars(frozen_type).keys()


def test_it_is_read_like_a_plain_value() -> None:
    value = frozen(VALUE)
    assert isinstance(value, dict)
    assert json.loads(json.dumps(value)) == VALUE
    assert {**value, "e": 1} == {**VALUE, "e": 1}
    assert frozen(value) is value
    assert frozen("text") == "text"
    assert frozen((1, [2])) == [1, [2]]


def test_a_deep_copy_is_plain_and_changes() -> None:
    value = frozen(VALUE)
    for plain in (copy.deepcopy(value), thawed(value)):
        plain["a"][1]["b"].append(3)
        assert type(plain) is dict
        assert plain != VALUE
    assert value == VALUE
    assert type(copy.deepcopy(value["a"])) is list


def test_it_pickles_and_stays_frozen() -> None:
    back = pickle.loads(pickle.dumps(frozen(VALUE)))
    assert back == VALUE
    assert type(back["a"]) is FrozenList


def test_a_cycle_is_left_for_the_codec_to_refuse() -> None:
    value: list[Any] = []
    value.append(value)
    assert frozen(value) is value
