from kms.policies import Role


def test_roles_are_spoken_as_on_the_command_line() -> None:
    assert [Role(word) for word in ("app", "rotator", "admin")] == list(Role)
