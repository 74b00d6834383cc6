import json

from tests.vault.cli.conftest import Run


def test_keys_list_shows_ids_and_states_and_never_a_key(loaded: Run) -> None:
    keys = json.loads(loaded("keys", "list", "--json").out)
    assert [(key["purpose"], key["state"]) for key in keys] == [
        ("data", "active"),
        ("index", "active"),
        ("ledger", "active"),
    ]
    assert set(keys[0]) == {"key_id", "purpose", "sequence", "state", "created_at", "kek", "kek_version"}
    assert keys[0]["key_id"] in loaded("keys", "list").out


def test_rotate_makes_a_new_key_active_and_old_values_still_open(loaded: Run) -> None:
    assert loaded("rotate").status == 0
    states = [key["state"] for key in json.loads(loaded("keys", "list", "--json").out) if key["purpose"] == "data"]
    assert states == ["deactivated", "active"]
    assert "asthma" in loaded("show").out
