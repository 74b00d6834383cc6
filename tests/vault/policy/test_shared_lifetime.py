import pytest

from tests.vault.policy.example import faults_after, policy_after

DATASET = "[dataset.rand]"
OTHER = """[dataset.other]
table = "person_year"
unit = "person"
rows_per_unit = 1
lifetime_epsilon = "2"

"""


def after(*lines: str) -> tuple[str, ...]:
    return faults_after((DATASET, "\n".join((OTHER, "[lifetime.persons]", *lines, DATASET))))


def test_several_datasets_share_a_lifetime() -> None:
    policy = policy_after(
        (DATASET, f'{OTHER}[lifetime.persons]\ndatasets = ["rand", "other"]\nepsilon = "4"\ndelta = "1e-6"\n{DATASET}')
    )
    shared = policy.lifetime["persons"]
    assert (shared.datasets, shared.nano, shared.atto_delta) == (("rand", "other"), 4 * 10**9, 10**12)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (('datasets = ["rand"]', "epsilon = 4"), "lifetime.persons.datasets: is empty"),
        (('datasets = ["rand", "rand"]', "epsilon = 4"), "lifetime.persons.datasets: a dataset stands twice"),
        (('datasets = ["rand", "other"]',), "lifetime.persons.epsilon: is missing"),
        (('datasets = ["rand", "other"]', "epsilon = 0"), "lifetime.persons.epsilon: epsilon: it must be above 0"),
        (
            ('datasets = ["rand", "other"]', "epsilon = 4", "unit = 1"),
            "lifetime.persons.unit: unknown key; there are: datasets, epsilon, delta",
        ),
    ],
)
def test_a_fault_names_its_key(lines: tuple[str, ...], fault: str) -> None:
    (found,) = after(*lines)
    assert found.startswith(fault)
