import subprocess
import sys

import numpy as np
import pytest

from vault.codecs.numpy_scalar import is_numpy_scalar


@pytest.mark.parametrize(("value", "kind"), [(np.int8(1), "integer"), (np.float32(1), "floating"), (np.True_, "bool_")])
def test_what_is_of_a_kind_is_told_from_what_is_not(value: object, kind: str) -> None:
    kinds = {"integer", "floating", "bool_"}
    assert {one for one in kinds if is_numpy_scalar(value, one)} == {kind}
    assert not any(is_numpy_scalar(plain, kind) for plain in (1, 1.0, True, "1", None))


def test_it_is_told_where_nobody_imported_numpy_and_none_is_imported_for_it() -> None:
    asked = (
        "import sys; from vault.codecs import codec_named; codec_named('int64/1').encode(1);"
        " codec_named('float64/1').encode(2); codec_named('bool/1').encode(True); print('numpy' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
