"""Differential privacy: numbers and budgets. It takes arrays and gives noisy answers; nobody here can set the noise.

A public name is imported when it is first used (PEP 562), so that nobody waits for what is not used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # what the table below says, for type checkers and editors
    from dp.answer import Answer, GroupAnswer, NoiseScale, PartValue
    from dp.answers import Answers
    from dp.bounding import Bounded
    from dp.caps import Caps
    from dp.chunk import Chunk
    from dp.debiasing import TrueCount, true_counts
    from dp.epsilon import laplace_rho, parse_epsilon
    from dp.errors import DpError, ParameterError
    from dp.grid import Grid
    from dp.nano import show
    from dp.noise.randomized_response import RandomizedResponse
    from dp.partial import Partial
    from dp.price import Price
    from dp.promised_rows import PromisedRows
    from dp.questions.count import Count
    from dp.questions.count_distinct import CountDistinct
    from dp.questions.count_units import CountUnits
    from dp.questions.histogram import Histogram
    from dp.questions.mean import Mean
    from dp.questions.quantiles import Quantiles
    from dp.questions.question import Aggregates, Question, release
    from dp.questions.standard_deviation import StandardDeviation
    from dp.questions.sum import Sum
    from dp.questions.top_groups import TopGroups
    from dp.questions.undeclared_groups import UndeclaredGroups
    from dp.questions.variance import Variance

__all__ = [
    "Aggregates",
    "Answer",
    "Answers",
    "Bounded",
    "Caps",
    "Chunk",
    "Count",
    "CountDistinct",
    "CountUnits",
    "DpError",
    "Grid",
    "GroupAnswer",
    "Histogram",
    "Mean",
    "NoiseScale",
    "ParameterError",
    "PartValue",
    "Partial",
    "Price",
    "PromisedRows",
    "Quantiles",
    "Question",
    "RandomizedResponse",
    "StandardDeviation",
    "Sum",
    "TopGroups",
    "TrueCount",
    "UndeclaredGroups",
    "Variance",
    "laplace_rho",
    "parse_epsilon",
    "release",
    "show",
    "true_counts",
]

_PLACES: Final = {
    "dp.answer": ("Answer", "GroupAnswer", "NoiseScale", "PartValue"),
    "dp.answers": ("Answers",),
    "dp.bounding": ("Bounded",),
    "dp.caps": ("Caps",),
    "dp.chunk": ("Chunk",),
    "dp.debiasing": ("TrueCount", "true_counts"),
    "dp.epsilon": ("laplace_rho", "parse_epsilon"),
    "dp.errors": ("DpError", "ParameterError"),
    "dp.grid": ("Grid",),
    "dp.nano": ("show",),
    "dp.noise.randomized_response": ("RandomizedResponse",),
    "dp.partial": ("Partial",),
    "dp.price": ("Price",),
    "dp.promised_rows": ("PromisedRows",),
    "dp.questions.count": ("Count",),
    "dp.questions.count_distinct": ("CountDistinct",),
    "dp.questions.count_units": ("CountUnits",),
    "dp.questions.histogram": ("Histogram",),
    "dp.questions.mean": ("Mean",),
    "dp.questions.quantiles": ("Quantiles",),
    "dp.questions.question": ("Aggregates", "Question", "release"),
    "dp.questions.standard_deviation": ("StandardDeviation",),
    "dp.questions.sum": ("Sum",),
    "dp.questions.top_groups": ("TopGroups",),
    "dp.questions.undeclared_groups": ("UndeclaredGroups",),
    "dp.questions.variance": ("Variance",),
}
_PLACE_OF: Final = {name: module for module, names in _PLACES.items() for name in names}

if not TYPE_CHECKING:  # who checks types is told of a name that there is not

    def __getattr__(name: str) -> Any:
        if name not in _PLACE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_PLACE_OF[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
