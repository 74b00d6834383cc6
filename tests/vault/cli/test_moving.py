"""keys move: only to a key that the policy names, as often as one likes."""

from pathlib import Path

import pytest

from tests.vault.cli.conftest import Run


def edit(folder: Path, old: str, new: str) -> None:
    policy = folder / "noisevault.toml"
    text = policy.read_text()
    assert old in text
    policy.write_text(text.replace(old, new))


def test_keys_move_to_a_former_key_and_back_and_values_open_throughout(loaded: Run, tmp_path: Path) -> None:
    assert loaded("keys", "new-file", "new").status == 0
    edit(tmp_path, 'kek = "local:kek"', 'kek = "local:kek"\nkek_former = ["local:new"]')
    moved = loaded("keys", "move", "--to", "local:new")
    assert moved.status == 0, moved.err
    assert "3 of 3 keys moved\n" in moved.out
    assert 'kek = "local:new", and the old one under kek_former' in moved.out
    assert "asthma" in loaded("find", "national_id", "11-1").out
    assert loaded("keys", "move", "--to", "local:new").out.startswith("0 of 3 keys moved\n")
    back = loaded("keys", "move", "--to", "local:kek")
    assert "3 of 3 keys moved\n" in back.out
    assert "Now, in the policy" not in back.out
    (tmp_path / "new").unlink()
    edit(tmp_path, 'kek_former = ["local:new"]', "")
    assert loaded("check").status == 0


def test_a_key_that_services_were_not_told_of_is_refused_with_what_to_write(loaded: Run) -> None:
    loaded("keys", "new-file", "new")
    refused = loaded("keys", "move", "--to", "local:new")
    assert (refused.status, refused.out) == (1, "")
    assert "local:new is not in the policy: name it under kek_former" in refused.err
    assert 'kek_former = ["local:new"]' in refused.err
    assert loaded("keys", "check").status == 0


def test_k14_a_login_in_the_uri_that_is_moved_to_is_not_repeated(loaded: Run) -> None:
    refused = loaded("keys", "move", "--to", "hcvault://vault:sesame-31@h:8200/transit/keys/k")
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith("refused: no key, token, password or PIN goes into a key's URI")
    assert "sesame" not in refused.err


def test_who_forgets_the_new_key_is_told_its_name(loaded: Run, tmp_path: Path) -> None:
    loaded("keys", "new-file", "new")
    edit(tmp_path, 'kek = "local:kek"', 'kek = "local:kek"\nkek_former = ["local:new"]')
    loaded("keys", "move", "--to", "local:new")
    edit(tmp_path, 'kek_former = ["local:new"]', "")
    for words in (("show",), ("keys", "check")):
        refused = loaded(*words)
        assert refused.status == 1
        assert "wrapped by local:" in refused.out + refused.err
        assert "name it under kek_former" in refused.out + refused.err


def test_a_former_key_under_a_passphrase_has_a_variable_of_its_own(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passphrase"
    file.touch(0o600)
    file.write_text("correct horse battery staple\n")
    monkeypatch.setenv("NOISEVAULT_PASSPHRASE_FILE", str(file))
    assert loaded("keys", "new-file", "new", "--passphrase").status == 0
    edit(tmp_path, 'kek = "local:kek"', 'kek = "local:kek"\nkek_former = ["local:new"]')
    refused = loaded("keys", "move", "--to", "local:new")
    assert (refused.status, "has no passphrase, but one is given" in refused.err) == (1, True)
    monkeypatch.delenv("NOISEVAULT_PASSPHRASE_FILE")
    monkeypatch.setenv("NOISEVAULT_FORMER_1_PASSPHRASE_FILE", str(file))
    moved = loaded("keys", "move", "--to", "local:new")
    assert "3 of 3 keys moved\n" in moved.out, moved.err
    assert "asthma" in loaded("show").out
