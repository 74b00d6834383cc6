"""Differential privacy: numbers and budgets. It takes arrays and gives noisy answers; nobody here can set the noise."""

from dp.answer import Answer, GroupAnswer, NoiseScale, PartValue
from dp.bounding import Bounded, Caps
from dp.chunk import Chunk
from dp.epsilon import laplace_rho, parse_epsilon
from dp.errors import DpError, ParameterError
from dp.grid import Grid
from dp.nano import show
from dp.partial import Partial
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.question import Aggregates, Question, release
from dp.questions.sum import Sum

__all__ = [
    "Aggregates",
    "Answer",
    "Bounded",
    "Caps",
    "Chunk",
    "Count",
    "DpError",
    "Grid",
    "GroupAnswer",
    "Mean",
    "NoiseScale",
    "ParameterError",
    "PartValue",
    "Partial",
    "Price",
    "Question",
    "Sum",
    "laplace_rho",
    "parse_epsilon",
    "release",
    "show",
]
