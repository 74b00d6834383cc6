from vault.jobs.job_settings import JobSettings


def test_unless_said_a_run_is_taken_for_dead_only_after_it_missed_several_beats() -> None:
    settings = JobSettings()
    assert settings.silence >= 5 * settings.beat
    assert not settings.after_lease


def test_unless_said_a_batch_holds_nobody_up_for_longer_than_a_second() -> None:
    settings = JobSettings()
    assert settings.lock_seconds <= 1
    assert settings.pace.target_seconds < 1
