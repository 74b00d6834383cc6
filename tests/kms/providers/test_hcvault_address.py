"""Addresses of Vault and OpenBao keys: one spelling, no host assumed, no plain http but to this machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import MisconfiguredError
from kms.providers.hcvault_address import TransitAddress, same_path

CANONICAL = TransitAddress.parse("hcvault://vault.example.org:8200/transit/keys/main")


@pytest.mark.parametrize(
    "uri",
    [
        "hcvault://vault.example.org/transit/keys/main",
        "hcvault://vault.example.org:8200/transit/keys/main/",
        "hcvault://VAULT.Example.org:8200//transit/keys/main",
        "hcvault://vault.example.org.:8200/transit/keys/main",
        "HCVAULT://vault.example.org:8200/transit/keys/main",
        "hcvault:vault.example.org:8200/transit/keys/main",
        " hcvault://vault.example.org:8200/transit/keys/main\n",
    ],
)
def test_k13_10_spellings_of_one_address_are_one_address(uri: str) -> None:
    assert TransitAddress.parse(uri) == CANONICAL
    assert CANONICAL.url == "https://vault.example.org:8200"
    assert CANONICAL.kek == "hcvault://vault.example.org:8200/transit/keys/main"


@pytest.mark.parametrize(
    "uri",
    [
        "hcvault:",
        "hcvault://",
        "hcvault:///transit/keys/main",
        "hcvault://:8200/transit/keys/main",
        "hcvault:/transit/keys/main",
        "hcvault://./transit/keys/main",
    ],
)
def test_k13_10_a_missing_address_is_refused_and_none_is_assumed(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_ADDR", "https://ambient.example.org:8200")
    with pytest.raises(MisconfiguredError, match="missing, and none is assumed: write hcvault://"):
        TransitAddress.parse(uri)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("https://vault.example.org/transit/keys/main", "named like hcvault://"),
        ("vault.example.org:8200/transit/keys/main", "named like hcvault://"),
        ("hcvault://user:hunter2@vault.example.org/transit/keys/main", "no login"),
        ("hcvault://vault.example.org/transit/keys/main?token=hunter2", "nothing follows"),
        ("hcvault://vault.example.org/transit/keys/main#x", "nothing follows"),
        ("hcvault://vault.example.org:0/transit/keys/main", "port"),
        ("hcvault://vault.example.org:99999/transit/keys/main", "port"),
        ("hcvault://vault.example.org:http/transit/keys/main", "port"),
        ("hcvault://[::1/transit/keys/main", "cannot be read"),
        ("hcvault://va ult/transit/keys/main", "host name"),
        ("hcvault://vault_%2f/transit/keys/main", "host name"),
        ("hcvault://vault.example.org", "MOUNT/keys/NAME"),
        ("hcvault://vault.example.org/keys/main", "MOUNT/keys/NAME"),
        ("hcvault://vault.example.org/transit/main", "MOUNT/keys/NAME"),
        ("hcvault://vault.example.org/transit/keys/../main", "MOUNT/keys/NAME"),
        ("hcvault://vault.example.org/../transit/keys/main", "MOUNT/keys/NAME"),
        ("hcvault://vault.example.org/transit/keys/a%2fb", "MOUNT/keys/NAME"),
    ],
)
def test_k13_10_what_is_no_address_is_refused_without_repeating_its_secrets(uri: str, why: str) -> None:
    with pytest.raises(MisconfiguredError, match=why) as raised:
        TransitAddress.parse(uri)
    assert "hunter2" not in str(raised.value)


def test_a_mount_may_have_several_segments_and_a_namespace_before_it() -> None:
    address = TransitAddress.parse("hcvault://h/team/a/transit/keys/k-1.x", namespace="/tenants/one/")
    assert (address.mount, address.key) == ("team/a/transit", "k-1.x")
    assert address.kek == "hcvault://h:8200/tenants/one/team/a/transit/keys/k-1.x"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost", "LOCALHOST"])
def test_k13_10_plain_http_goes_to_this_machine_and_only_by_the_setting(host: str) -> None:
    uri = f"hcvault://{host}:8200/transit/keys/k"
    assert TransitAddress.parse(uri, plain_http_to_loopback=True).url == f"http://{host.lower()}:8200"
    assert TransitAddress.parse(uri).url.startswith("https://")


@pytest.mark.parametrize("host", ["vault.example.org", "10.0.0.1", "[::2]", "localhost.example.org", "128.0.0.1"])
def test_k13_10_plain_http_to_another_machine_is_refused(host: str) -> None:
    with pytest.raises(MisconfiguredError, match="on this machine only"):
        TransitAddress.parse(f"hcvault://{host}/transit/keys/k", plain_http_to_loopback=True)


@pytest.mark.parametrize("host", ["[2001:DB8::1]", "[2001:db8:0:0:0:0:0:1]", "[2001:0db8::0001]"])
def test_k13_10_spellings_of_an_ipv6_address_are_one_address(host: str) -> None:
    address = TransitAddress.parse(f"hcvault://{host}/transit/keys/k")
    assert (address.url, address.kek) == (
        "https://[2001:db8::1]:8200",
        "hcvault://[2001:db8::1]:8200/transit/keys/k",
    )


@pytest.mark.parametrize(
    "host",
    [
        "https://vault",
        "http://vault",
        "https:",
        "[::1]x",
        "[::1]x:8200",
        "127.1",
        "2130706433",
        "0x7f000001",
        "127.0.0.01",
    ],
)
def test_k13_10_what_one_resolver_reads_otherwise_than_another_is_refused(host: str) -> None:
    with pytest.raises(MisconfiguredError, match="write hcvault://"):
        TransitAddress.parse(f"hcvault://{host}/transit/keys/k")


@pytest.mark.parametrize("namespace", [None, "", "/", "//"])
def test_k13_10_spellings_of_the_root_namespace_are_one(namespace: str | None) -> None:
    assert TransitAddress.parse(f"{CANONICAL.kek}", namespace=namespace) == CANONICAL


@pytest.mark.parametrize("namespace", ["team\n", "team a", "team\r\nX-Vault-Token: t", "t\u00e9am"])
def test_k13_10_a_namespace_that_is_no_line_of_text_is_refused_in_one_line(namespace: str) -> None:
    with pytest.raises(MisconfiguredError, match="not one line of plain text") as raised:
        TransitAddress.parse(CANONICAL.kek, namespace=namespace)
    assert "\n" not in str(raised.value)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        address = TransitAddress.parse(f"hcvault:{text}")
    except MisconfiguredError:
        return
    assert TransitAddress.parse(address.kek) == address


@pytest.mark.parametrize(
    ("kek", "same"),
    [
        ("hcvault://h:8200/transit/keys/k", True),
        ("hcvault://other:8200/transit/keys/k", True),
        ("hcvault://[::1]:8201/transit/keys/k", True),
        ("hcvault://h:8200/ns/transit/keys/k", False),
        ("hcvault://h:8200/transit/keys/kk", False),
        ("awskms://h:8200/transit/keys/k", False),
        ("", False),
    ],
)
def test_one_key_may_go_by_two_names_of_its_server(kek: str, same: bool) -> None:
    assert same_path(kek, "hcvault://h:8200/transit/keys/k") == same
