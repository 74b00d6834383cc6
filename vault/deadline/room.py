"""Room: how many bytes an outcome is given, by the question's text and its declared groups, never by its answer."""

import json
from collections.abc import Iterable
from typing import Final

from vault.policy import DatasetPolicy
from vault.question import Question
from vault.translation import labels

__all__ = ["room_of"]

# Ours: the largest groups are those of a variance at an epsilon of 1e-8, of 210 bytes.
BASE: Final = 2048
A_GROUP: Final = 256


def room_of(rules: DatasetPolicy, questions: Iterable[Question]) -> int:
    """For all of them together. questions: as admit() gives them.

    Groups that nobody declared are told when they are large; how many there are shows in the length too.
    """
    asked = list(questions)
    texts = sum(len(json.dumps(question.canonical())) for question in asked)
    groups = sum(len(labels(rules, question)) for question in asked)
    return BASE * len(asked) + texts + A_GROUP * groups
