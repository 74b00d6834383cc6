from vault.jobs.change import Change, Failed


def test_neither_shows_stored_values_or_keys() -> None:
    assert "secret" not in repr(Change(("secret",), (b"secret",), (b"secret",)))
    assert "secret" not in repr(Failed(("secret",), "body", "does not open"))
