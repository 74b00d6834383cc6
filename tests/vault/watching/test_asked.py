from dataclasses import replace

from tests.vault.watching.logs import HOUR, entry
from vault.question import parse
from vault.watching.asked import Asked


def test_a_charge_is_who_asked_what_when_at_which_price() -> None:
    one = Asked.of(entry(7, "count(*) where age > 40"))
    assert (one.sequence, one.at, one.dataset, one.principal, one.price) == (7, 7 * HOUR, "visits", "ann", (10**8, 0))
    assert one.questions == (parse("count(*) where age >= 41"),)


def test_a_batch_has_all_of_its_questions() -> None:
    one = Asked.of(entry(1, "count(*)", "sum(spending) by site"))
    assert one.questions == (parse("count(*)"), parse("sum(spending) by site"))


def test_gaussian_noise_has_a_price_without_an_epsilon() -> None:
    assert Asked.of(entry(1, "count(*)", epsilon=None, rho=5)).price == (None, 5)


def test_charges_of_the_first_version_had_an_epsilon_each() -> None:
    first = entry(1, "count(*)")
    fields = {name: value for name, value in first.fields.items() if name not in {"unbounded", "scopes"}}
    assert Asked.of(replace(first, fields=fields)).price == (10**8, 0)


def test_what_is_no_question_of_ours_or_does_not_open_has_none() -> None:
    for text in ("", "MEDIAN OF EVERYTHING", "{}", '{"format": 1, "questions": 2}', "{not json", '["count(*)"]'):
        assert Asked.of(replace(entry(1, "count(*)"), question=text)).questions == ()
