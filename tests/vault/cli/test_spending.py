import pytest

import dp
from tests.vault.policy.example import example_policy
from vault.cli.spending import Spending, parse_rho
from vault.question import QuestionRefusedError, admit, parse

POLICY = example_policy()
RULES = POLICY.dataset["rand"]


def test_a_question_has_an_epsilon_or_a_rho() -> None:
    assert Spending.of("0.5", None) == Spending(5 * 10**8)
    assert Spending.of(None, "0.01") == Spending(10**7, gaussian=True)
    with pytest.raises(dp.ParameterError, match="epsilon: say what a question may cost one person, such as --epsilon"):
        Spending.of(None, None)
    with pytest.raises(dp.ParameterError, match="rho: a question has an epsilon or a rho"):
        Spending.of("0.5", "0.01")


@pytest.mark.parametrize("written", ["0", "-1", "nan", "inf", "1e-10", "", "one", "1e30"])
def test_k19_05_a_rho_that_is_none_is_refused_by_name(written: str) -> None:
    with pytest.raises(dp.ParameterError) as caught:
        parse_rho(written)
    assert caught.value.parameter == "rho"


@pytest.mark.parametrize("text", ["median(visits)", "top(2) by site", "count_units(*) by email"])
def test_what_gaussian_noise_cannot_answer_is_refused(text: str) -> None:
    question = admit(parse(text), POLICY, "rand")
    with pytest.raises(QuestionRefusedError, match="rho: this question is answered by no Gaussian noise"):
        Spending(10**7, gaussian=True).price(RULES, question)
    assert Spending(10**7).price(RULES, question).nano_epsilon == 10**7
