import json

from tests.vault.cli.conftest import Run


def test_each_index_is_told_with_its_slot_and_key(loaded: Run) -> None:
    told = loaded("reindex", "--status")
    assert told.status == 0
    (line,) = told.out.splitlines()
    assert line.startswith("visit.national_id index bidx: slot a key ")
    (as_json,) = map(json.loads, loaded("reindex", "--status", "--json").out.splitlines())
    assert as_json["index"] == "visit.national_id index bidx"
    assert as_json["asked"] == "a"
    assert as_json["slots"]["a"]["key"] in line
