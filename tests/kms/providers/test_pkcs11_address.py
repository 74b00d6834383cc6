"""A pkcs11 URI is read as RFC 7512 says, or refused with what to write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import MisconfiguredError
from kms.providers.pkcs11_address import Pkcs11Address, kek_identity, may_be_one_key

MODULE = "?module-path=/m.so"
parse = Pkcs11Address.parse


def test_every_attribute_is_read() -> None:
    address = parse(
        "pkcs11:token=The%20Software%20PKCS%2311;serial=DECC0401648;manufacturer=Snake%20Oil,%20Inc.;model=1.0;"
        "object=my-k%C3%A9y;type=secret-key;id=%69%95%3E%5C?module-path=/usr/lib/m.so&pin-source=file:/etc/token_pin"
    )
    assert (address.token, address.serial, address.manufacturer, address.model, address.object, address.id) == (
        "The Software PKCS#11",
        "DECC0401648",
        "Snake Oil, Inc.",
        "1.0",
        "my-kéy",
        b"\x69\x95\x3e\x5c",
    )
    assert (str(address.module), str(address.pin_file)) == ("/usr/lib/m.so", "/etc/token_pin")


@pytest.mark.parametrize("source", ["file:/etc/pin", "file:///etc/pin", "file:%2Fetc%2Fpin"])
def test_the_pin_lies_in_a_file(source: str) -> None:
    assert str(parse(f"pkcs11:token=t;object=k{MODULE}&pin-source={source}").pin_file) == "/etc/pin"


@pytest.mark.parametrize("uri", [f"pkcs11:token=t;object=k{MODULE}&pin-value=hunter2", "pkcs11:pin-value=hunter2"])
def test_a_pin_in_the_uri_is_refused_with_where_to_put_it(uri: str) -> None:
    with pytest.raises(MisconfiguredError, match=r"pin-source=file:/PATH, or give it in the settings") as raised:
        parse(uri)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("hcvault://x", "is named like pkcs11:token="),
        (f"pkcs11:object=k{MODULE}", "names no token"),
        (f"pkcs11:manufacturer=m;object=k{MODULE}", "names no token"),
        (f"pkcs11:token=t{MODULE}", "names no key"),
        ("pkcs11:token=t;object=k", "module-path is an absolute path"),
        ("pkcs11:token=t;object=k?module-path=m.so", "module-path is an absolute path"),
        (f"pkcs11:token=t;object=k;slot-id=3{MODULE}", "slot-id is not taken: .* name the token"),
        ("pkcs11:token=t;object=k?module-name=softhsm2", "module-name is not taken: .*whole path"),
        (f"pkcs11:token=t;object=k;type=private{MODULE}", "type=secret-key"),
        (f"pkcs11:token=t;object=k;vendor=x{MODULE}", "is not one of id, manufacturer"),
        (f"pkcs11:token=t;object=k;pin-source=file:/p{MODULE}", "wrong side"),
        (f"pkcs11:token=t;object{MODULE}", "is not one of"),
        (f"pkcs11:token=t;token=u;object=k{MODULE}", "token is said twice"),
        (f"pkcs11:token=;object=k{MODULE}", "empty or not percent-encoded"),
        (f"pkcs11:token=a b;object=k{MODULE}", "empty or not percent-encoded"),
        (f"pkcs11:token=t;object=k%4{MODULE}", "empty or not percent-encoded"),
        (f"pkcs11:token=é;object=k{MODULE}", "empty or not percent-encoded"),
        (f"pkcs11:token=%FF;object=k{MODULE}", "token is not UTF-8"),
        (f"pkcs11:token=t;object=k{MODULE}&pin-source=/etc/pin", "write pin-source=file:/PATH"),
        (f"pkcs11:token=t;object=k{MODULE}&pin-source=file:pin", "write pin-source=file:/PATH"),
        (f"pkcs11:token=t;object=k{MODULE}&pin-source=%7C/bin/pin", "no program is run"),
        (f"pkcs11:token=t;object=k{MODULE}&pin-source=file:/a%00b", "write pin-source=file:/PATH"),
    ],
)
def test_what_cannot_be_served_is_refused_with_what_to_write(uri: str, said: str) -> None:
    with pytest.raises(MisconfiguredError, match=said):
        parse(uri)


@given(serial=st.text(min_size=1), key_id=st.binary(min_size=1), label=st.text(min_size=1))
def test_an_identity_is_a_uri_that_names_the_same_key(serial: str, key_id: bytes, label: str) -> None:
    try:
        identity = kek_identity(serial, key_id, label)
    except UnicodeEncodeError:  # a lone surrogate, which no token has
        return
    address = parse(identity + MODULE)
    assert (address.serial, address.id, address.object) == (serial, key_id, label)
    assert str(address) == identity


def test_an_identity_has_what_the_key_has() -> None:
    assert kek_identity("7", b"", "kek") == "pkcs11:serial=7;object=kek"
    assert kek_identity("7", b"\x01\xff", "") == "pkcs11:serial=7;id=%01%FF"


@pytest.mark.parametrize(
    ("kek", "may_be"),
    [
        ("pkcs11:serial=a;id=%01;object=kek", True),
        ("pkcs11:serial=a;id=%01;object=renamed", True),
        ("pkcs11:serial=a;id=%02;object=kek", True),
        ("pkcs11:serial=a;id=%01", True),
        ("pkcs11:serial=a;id=%02;object=other", False),
        ("pkcs11:serial=b;id=%01;object=kek", False),
        ("pkcs11:serial=a", False),
        ("pkcs11:", False),
    ],
)
def test_a_key_may_have_got_another_id_or_label_but_not_both(kek: str, may_be: bool) -> None:
    assert may_be_one_key(kek, "pkcs11:serial=a;id=%01;object=kek") == may_be
