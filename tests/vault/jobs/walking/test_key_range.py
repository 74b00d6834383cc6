from vault.jobs.walking.key_range import WHOLE, KeyRange


def test_the_whole_has_no_ends() -> None:
    assert WHOLE.is_whole
    assert not KeyRange(after=(1,)).is_whole
    assert not KeyRange(up_to=(1,)).is_whole


def test_a_range_shows_no_key_which_may_be_a_value() -> None:
    assert "secret" not in repr(KeyRange(("secret",), ("secret",)))
