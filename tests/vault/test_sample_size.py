"""Samples, as they are written."""

import pytest

from vault.sample_size import Sample


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("1000", Sample(rows=1000)),
        (" 1 ", Sample(rows=1)),
        ("1%", Sample(share=0.01)),
        ("2.5 %", Sample(share=0.025)),
        ("100%", Sample(share=1.0)),
    ],
)
def test_a_sample_is_rows_or_a_share(text: str, sample: Sample) -> None:
    assert Sample.parse(text) == sample


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-1", "1.5", "1e3", "%", "many", "१"])
def test_others_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="a sample is"):
        Sample.parse(text)
