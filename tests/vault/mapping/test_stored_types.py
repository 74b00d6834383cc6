import pytest
from sqlalchemy import Text

from vault import AnyInteger, Coded, Sealed, register_codec
from vault.errors import DefinitionError


def test_an_own_codec_is_declared_by_its_id_or_by_itself() -> None:
    codec = register_codec("test.stored", 1, encode=bytes, decode=bytes)
    assert Sealed(Coded("test.stored/1")).codec_id == Sealed(Coded(codec)).codec_id == "test.stored/1"
    assert repr(Sealed(Coded(codec), pad=16)) == "Sealed(Coded('test.stored/1'), pad=16)"


def test_an_integer_of_any_size_is_a_type_of_its_own() -> None:
    assert repr(Sealed(AnyInteger)) == "Sealed(AnyInteger())"
    assert (Sealed(AnyInteger).codec_id, Sealed(AnyInteger).python_type) == ("int/1", int)


def test_types_are_told_apart_where_statements_are_cached() -> None:
    keys = {Sealed(kind)._static_cache_key for kind in (Coded("int/1"), Coded("str/1"), AnyInteger(), Text())}
    assert len(keys) == 4


def test_an_unknown_codec_and_padding_are_refused_at_once() -> None:
    with pytest.raises(DefinitionError, match="there is no codec"):
        Coded("test.nothing/1")
    with pytest.raises(DefinitionError, match=r"give padding as Sealed\(\.\.\., pad=\)"):
        Coded("str/1+pad16")
