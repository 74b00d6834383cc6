import copy
import pickle

import pytest

from vault.mapping.asked import Asked


def test_an_asked_value_shows_nothing_of_itself() -> None:
    asked = Asked("plain§a")
    assert "§" not in repr(asked) + str(asked) + f"{asked}" + repr([asked])
    assert copy.deepcopy(asked).value == "plain§a"
    with pytest.raises(TypeError, match="build the statement"):
        pickle.dumps(asked)
