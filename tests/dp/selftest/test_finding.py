from dp.selftest.finding import Finding, Verdict, judged


def test_what_is_not_left_to_chance_has_no_p_value() -> None:
    assert judged("a", 3, right=True) == Finding("a", 3, None, Verdict.PASS)
    assert judged("a", 3, right=False) == Finding("a", 3, None, Verdict.FAIL)
