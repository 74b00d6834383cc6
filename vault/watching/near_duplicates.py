"""Near duplicates: a question that is asked again and again, a little otherwise, so that no answer is a repeat."""

from collections.abc import Iterable, Iterator

from vault.watching.neighbours import Neighbours
from vault.watching.thresholds import Thresholds
from vault.watching.warning import Warned, in_words

__all__ = ["near_duplicates"]

CODE = "near-duplicates"


def near_duplicates(found: Iterable[Neighbours], thresholds: Thresholds) -> Iterator[Warned]:
    """All analysts together: whoever asks in turn would not show otherwise."""
    for one in found:
        if one.different < thresholds.near_count:
            continue
        differ = (
            f"that differ in the condition on {one.column} alone"
            if one.column is not None
            else "that are the same but for the price or the epoch"
        )
        yield Warned(
            CODE,
            one.dataset,
            one.principals,
            f"{in_words(one.principals)} asked {one.different} questions of dataset {one.dataset} {differ}: see whether"
            " their answers are averaged or subtracted; what is wanted of each value is asked once, by groups",
            one.different,
            one.entries,
            one.texts,
        )
