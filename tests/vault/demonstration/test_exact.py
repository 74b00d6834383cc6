from vault.demonstration.exact import by_site
from vault.demonstration.people import records


def test_the_figures_are_those_published_with_the_data() -> None:
    figures = by_site(records(), "medical_spending", 0, 2000)
    assert [figures[site].rows for site in range(1, 7)] == [4462, 4036, 2436, 3090, 2595, 3571]
    assert abs(sum(site.clamped for site in figures.values()) - 2850466.3060767) < 1e-5


def test_clamping_moves_only_what_is_outside() -> None:
    rows = [{"site": "1", "x": "-5"}, {"site": "1", "x": "7"}, {"site": "2", "x": "3"}]
    figures = by_site(rows, "x", 0, 5)
    assert (figures[1].rows, figures[1].total, figures[1].clamped) == (2, 2, 5)
    assert (figures[2].total, figures[2].clamped) == (3, 3)
