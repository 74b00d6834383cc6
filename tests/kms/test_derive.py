"""Derivation, against vectors that the standard library computed."""

import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.derive import compound_index_key, field_key, index_key, ledger_key, shared_index_key
from kms.secret import SecretKey

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = json.loads((VECTORS / "kms_derive.json").read_text())["derived"]
FUNCTIONS = {
    "field": field_key,
    "index": index_key,
    "shared index": shared_index_key,
    "compound index": compound_index_key,
    "ledger": ledger_key,
}


def derived(case: dict[str, Any]) -> SecretKey:
    function: Any = FUNCTIONS[case["kind"]]
    key: SecretKey = function(SecretKey(bytes.fromhex(case["key"])), bytes.fromhex(case["keyring"]), *case["names"])
    return key


@pytest.mark.parametrize("case", [c for c in CASES if c["result"] == "valid"], ids=lambda c: c["comment"])
def test_a_derived_key_is_the_published_one(case: dict[str, Any]) -> None:
    assert derived(case).raw.hex() == case["derived"]


@pytest.mark.parametrize("case", [c for c in CASES if c["result"] == "invalid"], ids=lambda c: c["comment"])
def test_what_the_vectors_refuse_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(getattr(builtins, case["error"])):
        derived(case)


def test_no_two_vectors_share_a_key() -> None:
    keys = [c["derived"] for c in CASES if c["result"] == "valid"]
    assert len(keys) == len(set(keys)) >= 14


def test_the_vectors_are_what_their_script_writes() -> None:
    program = "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['text']())"
    script = VECTORS / "write_kms_vectors.py"
    written = subprocess.run([sys.executable, "-c", program, script], capture_output=True, check=True, timeout=30)
    assert written.stdout.decode() == (VECTORS / "kms_derive.json").read_text()
    assert "import kms" not in script.read_text()
    assert "from kms" not in script.read_text()


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(a=st.tuples(names, names), b=st.tuples(names, names))
def test_two_fields_share_a_key_only_if_they_are_the_same(a: tuple[str, str], b: tuple[str, str]) -> None:
    key, keyring = SecretKey(bytes(32)), bytes(16)
    assert (field_key(key, keyring, *a) == field_key(key, keyring, *b)) == (a == b)


def test_the_same_names_make_other_keys_for_other_uses() -> None:
    key, keyring = SecretKey(bytes(32)), bytes(16)
    made = [
        field_key(key, keyring, "t", "c").raw,
        compound_index_key(key, keyring, "t", "c").raw,
        index_key(key, keyring, "t", "c", "bidx").raw,
        shared_index_key(key, keyring, "t").raw,
    ]
    assert len(set(made)) == len(made)


def test_a_lone_surrogate_is_no_name() -> None:
    with pytest.raises(UnicodeEncodeError):
        field_key(SecretKey(bytes(32)), bytes(16), "t", "\ud800")
