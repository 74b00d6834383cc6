"""Differential privacy: numbers and budgets. It takes arrays and gives noisy answers; nobody here can set the noise."""

from dp.answer import Answer, GroupAnswer, NoiseScale, PartValue
from dp.answers import Answers
from dp.bounding import Bounded, Caps
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
