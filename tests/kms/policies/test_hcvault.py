"""Each role's policy, loaded into a real OpenBao: it lets the role do its work through NoiseVault, and nothing else."""

import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hvac
import pytest
from hvac.exceptions import Forbidden, InvalidRequest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import AccessDeniedError, KmsError, MisconfiguredError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.logins import AppRole
from kms.policies import Role
from kms.policies.hcvault import OF_THE_LOGIN, transit_policy
from kms.provider import wrap_context
from kms.providers.hcvault_address import TransitAddress
from kms.secret import SecretKey, SecretText
from tests.kms.logins.vault_logins import AppRoleOnServer
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.transit import Transit, b64

KEY = SecretKey(bytes(range(32)))
CONTEXT = wrap_context(bytes(16), "data", b"\x00\x00\x00\x01", 1)

# What each role may send below its mount, as (method, path); kek is the key of the policy.
MAY: dict[Role, set[tuple[str, str]]] = {
    Role.APP: {("post", "decrypt/kek")},
    Role.ROTATOR: {("get", "keys/kek"), ("post", "encrypt/kek"), ("post", "decrypt/kek"), ("post", "rewrap/kek")},
    Role.ADMIN: {
        ("get", "keys/kek"),
        ("post", "keys/kek"),
        ("delete", "keys/kek"),
        ("post", "keys/kek/rotate"),
        ("post", "keys/kek/config"),
        ("post", "keys/kek/trim"),
        ("delete", "keys/kek/soft-delete"),
        ("post", "keys/kek/soft-delete-restore"),
    },
}
OTHER_SEGMENTS = {"plaintext": "plaintext", "type": "encryption-key", "version": "1", "destination": "other"}
BODIES: dict[str, dict[str, Any]] = {
    "keys/kek": {"derived": True},
    "keys/kek/config": {"min_decryption_version": 1},
    "keys/kek/trim": {"min_available_version": 1},
}


def load(transit: Transit, *roles: Role) -> str:
    """A token with these roles' policies and no other, not even the default one."""
    names = []
    for role in roles:
        names.append(f"{role}-{secrets.token_hex(4)}")
        transit.root.sys.create_or_update_policy(names[-1], transit_policy(transit.uri(), role))
    answer = transit.root.auth.token.create(policies=names, no_default_policy=True, ttl="1h")
    return str(answer["auth"]["client_token"])


def client(transit: Transit, token: str) -> hvac.Client:
    return hvac.Client(url=transit.server.url, token=token, timeout=10, cert="")


def operations(transit: Transit, key: str) -> set[tuple[str, str]]:
    """Every operation of the mount that the server itself lists, on one key."""
    paths = transit.root.adapter.get("/v1/sys/internal/specs/openapi")["paths"]
    prefix = f"/{transit.mount}/"
    names = OTHER_SEGMENTS | {"name": key, "source": key}
    return {
        (method, re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], "x"), path.removeprefix(prefix)))
        for path, methods in paths.items()
        if path.startswith(prefix)
        for method in {"get", "post", "delete"} & methods.keys()
    }


def refused(asker: hvac.Client, method: str, path: str) -> bool:
    """Whether the policy, and not the operation itself, is against it."""
    try:
        if method == "post":
            asker.write_data(path, data=BODIES.get(path.partition("/transit/")[2], {}))
        elif method == "get":
            asker.read(path)
        else:
            asker.delete(path)
    except Forbidden:
        return True
    except hvac.exceptions.VaultError:
        return False
    return False


@pytest.mark.openbao
@pytest.mark.parametrize("role", Role)
def test_of_all_that_the_server_can_do_a_role_may_do_its_work_and_nothing_else(transit: Transit, role: Role) -> None:
    transit.create("other")
    listed = operations(transit, "kek")
    assert len(listed) > 35
    assert MAY[role] <= listed
    asker = client(transit, load(transit, role))
    # Deletions come last: what is gone cannot be asked for anything.
    for method, path in sorted(listed, key=lambda one: (one[0] == "delete", one)):
        allowed = not refused(asker, method, f"{transit.mount}/{path}")
        assert allowed == ((method, path) in MAY[role]), (role, method, path)
    for method, path in operations(transit, "other"):
        if "other" in path:
            assert refused(asker, method, f"{transit.mount}/{path}"), (role, method, path)
    for method, path in (
        ("get", "sys/mounts"),
        ("get", "sys/policies/acl/default"),
        ("post", "auth/token/create"),
        ("post", "sys/seal"),
        ("get", f"{transit.mount}x/keys/kek"),
    ):
        assert refused(asker, method, path), (role, method, path)


@pytest.mark.openbao
@pytest.mark.parametrize("role", Role)
def test_a_role_looks_up_and_renews_its_own_token(transit: Transit, role: Role) -> None:
    asker = client(transit, load(transit, role))
    assert asker.read("auth/token/lookup-self")["data"]["policies"] != ["default"]
    assert asker.write_data("auth/token/renew-self", data={})["auth"]["client_token"]


WORK: dict[str, Callable[[Keyring], object]] = {
    "warm": lambda keyring: keyring.warm(),
    "seal": lambda keyring: keyring.sealing(Purpose.DATA),
    "open": lambda keyring: keyring.opening(Purpose.DATA, keyring.records(Purpose.DATA)[0].key_id),
    "check": lambda keyring: keyring.lifecycle.check(),
    "rotate": lambda keyring: keyring.lifecycle.rotate(Purpose.DATA),
    "prepare": lambda keyring: keyring.lifecycle.prepare(Purpose.DATA),
    "rewrap": lambda keyring: keyring.lifecycle.rewrap(),
}
OF_AN_APP = {"warm", "seal", "open", "check"}


@pytest.mark.openbao
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("role", Role)
def test_a_keyring_does_what_its_role_may_and_is_denied_the_rest(
    transit: Transit, store: KeyStore, clock: ManualClock, role: Role, work: str
) -> None:
    Keyring.create(store, transit.provider(), "main")
    keyring = Keyring.open(store, transit.provider(token=load(transit, role)), "main", clock=clock)
    before = keyring.records()
    if role is Role.ROTATOR or (role is Role.APP and work in OF_AN_APP):
        WORK[work](keyring)
        assert not keyring.lifecycle.check()
        return
    if work == "check":  # it tells of each key why it does not unwrap
        assert {type(error) for _, error in keyring.lifecycle.check()} == {AccessDeniedError}
        return
    with pytest.raises(AccessDeniedError):
        WORK[work](keyring)
    assert keyring.records() == before


@pytest.mark.openbao
@pytest.mark.parametrize(("role", "may"), [(Role.APP, False), (Role.ROTATOR, True), (Role.ADMIN, False)])
def test_only_the_rotator_makes_a_keyring(transit: Transit, store: KeyStore, role: Role, may: bool) -> None:
    provider = transit.provider(token=load(transit, role))
    if may:
        assert Keyring.create(store, provider, "main").warm()
        return
    with pytest.raises(AccessDeniedError):
        Keyring.create(store, provider, "main")
    assert store.names() == []


@pytest.mark.openbao
def test_the_administrator_leads_a_key_from_its_making_to_its_deletion(transit: Transit) -> None:
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"deletion_allowed": True})
    transit.root.delete(f"{transit.mount}/keys/kek")
    admin, path = client(transit, load(transit, Role.ADMIN)), f"{transit.mount}/keys/kek"
    for exported in ({"derived": False}, {"derived": True, "exportable": True}, {"allow_plaintext_backup": True}):
        with pytest.raises(Forbidden):
            admin.write_data(path, data=exported)
    admin.write_data(path, data={"derived": True, "type": "aes256-gcm96"})
    (wrapped,) = transit.provider().rewrap([(transit.provider().wrap(KEY, CONTEXT), CONTEXT)])
    admin.write_data(f"{path}/rotate", data={})
    assert admin.read(path)["data"]["latest_version"] == 2
    (moved,) = transit.provider().rewrap([(wrapped, CONTEXT)])
    assert moved.kek_version == "2"
    for opened in ({"exportable": True}, {"allow_plaintext_backup": True}):
        with pytest.raises(Forbidden):
            admin.write_data(f"{path}/config", data=opened)
    admin.write_data(f"{path}/config", data={"min_decryption_version": 2, "min_encryption_version": 2})
    admin.write_data(f"{path}/trim", data={"min_available_version": 2})
    assert transit.provider().unwrap([(moved, CONTEXT)]) == [KEY]
    admin.delete(f"{path}/soft-delete")
    admin.write_data(f"{path}/soft-delete-restore", data={})
    admin.write_data(f"{path}/config", data={"deletion_allowed": True})
    admin.delete(path)
    assert transit.root.list(f"{transit.mount}/keys") is None


@pytest.mark.openbao
def test_an_administrator_who_is_given_another_role_too_decrypts_nothing(transit: Transit) -> None:
    wrapped = transit.provider().wrap(KEY, CONTEXT)
    with pytest.raises(AccessDeniedError):
        transit.provider(token=load(transit, Role.ROTATOR, Role.ADMIN)).unwrap([(wrapped, CONTEXT)])


@pytest.mark.openbao
def test_nobody_makes_a_missing_key_by_encrypting(transit: Transit) -> None:
    """With "create" on encrypt the server would make it, and not derived."""
    transit.root.write_data(f"{transit.mount}/keys/kek/config", data={"deletion_allowed": True})
    transit.root.delete(f"{transit.mount}/keys/kek")
    asker = client(transit, load(transit, Role.ROTATOR))
    with pytest.raises((Forbidden, InvalidRequest)):
        asker.write_data(f"{transit.mount}/encrypt/kek", data={"plaintext": b64(b"x"), "context": b64(b"y")})
    with pytest.raises(KmsError):
        transit.provider(token=load(transit, Role.ROTATOR)).wrap(KEY, CONTEXT)
    assert transit.root.list(f"{transit.mount}/keys") is None


@pytest.mark.openbao
def test_an_app_lives_through_the_end_of_its_token_by_its_policy_alone(
    transit: Transit, store: KeyStore, clock: ManualClock
) -> None:
    Keyring.create(store, transit.provider(), "main")
    policy = f"app-{secrets.token_hex(4)}"
    transit.root.sys.create_or_update_policy(policy, transit_policy(transit.uri(), Role.APP))
    role = AppRoleOnServer.create(transit, token_policies=[policy], token_no_default_policy=True, token_ttl="60s")
    login = AppRole(role.role_id, SecretText(role.secret_id()), role.mount)
    provider = transit.provider(login=login)
    keyring = Keyring.open(store, provider, "main", clock=clock)
    key = keyring.sealing(Purpose.DATA).key
    held = provider._logins._held
    assert held is not None
    token = held.grant.token.reveal()
    renewed = client(transit, token).write_data("auth/token/renew-self", data={})["auth"]
    assert (renewed["client_token"], renewed["renewable"]) == (token, True)
    transit.root.write_data("auth/token/revoke", data={"token": token})
    assert keyring.lifecycle.check() == []  # a new login, since the token's own look-up said that it ended
    assert keyring.opening(Purpose.DATA, key.key_id) == key


@pytest.mark.openbao
def test_in_a_namespace_the_policy_belongs_to_it(transit: Transit) -> None:
    space = f"ns-{secrets.token_hex(4)}"
    transit.root.sys.create_namespace(space)
    root = hvac.Client(url=transit.server.url, token=transit.server.root_token, namespace=space, timeout=10, cert="")
    root.sys.enable_secrets_engine("transit", path="team/a/transit")
    root.write_data("team/a/transit/keys/kek", data={"derived": True})
    inside = Transit(transit.server, "team/a/transit")
    for role in (Role.APP, Role.ROTATOR):
        policy = transit_policy(inside.uri(), role, f"/{space}/")
        assert f"# bao policy write -namespace={space} noisevault-{role} FILE" in policy
        root.sys.create_or_update_policy(role.value, policy)
    tokens = {
        role: str(root.auth.token.create(policies=[role.value], no_default_policy=True)["auth"]["client_token"])
        for role in (Role.APP, Role.ROTATOR)
    }
    wrapped = inside.provider(token=tokens[Role.ROTATOR], namespace=space).wrap(KEY, CONTEXT)
    app = inside.provider(token=tokens[Role.APP], namespace=space)
    assert app.unwrap([(wrapped, CONTEXT)]) == [KEY]
    with pytest.raises(AccessDeniedError):
        app.wrap(KEY, CONTEXT)
    root.sys.disable_secrets_engine("team/a/transit")
    transit.root.sys.delete_namespace(space)


NAMES = st.text(st.sampled_from('ab1_-./*+{}"\\\n# $%'), min_size=1, max_size=8) | st.sampled_from(
    ["kek", "*", "a*", "+", "{{identity.entity.id}}", "..", '"', 'x" { capabilities = ["sudo"] } path "y', "a\nb"]
)


@given(mount=NAMES, name=NAMES, namespace=NAMES | st.none(), role=st.sampled_from(Role))
def test_no_name_widens_a_policy(mount: str, name: str, namespace: str | None, role: Role) -> None:
    """Either it is refused, or each stanza is of one exact path and nothing stands between them."""
    try:
        policy = transit_policy(f"hcvault://host/{mount}/keys/{name}", role, namespace)
    except MisconfiguredError:
        return
    paths = re.findall(r'^path "(.*)" \{$', policy, re.MULTILINE)
    assert len(paths) == policy.count("path ") == policy.count("capabilities = ")
    assert all(re.fullmatch(r"[A-Za-z0-9_./-]+", path) for path in paths)
    assert all(line[0] in "#p }" for line in policy.splitlines())
    address = TransitAddress.parse(f"hcvault://host/{mount}/keys/{name}")
    assert all(f"/{address.key}" in path for path in paths if path.startswith(f"{address.mount}/"))
    assert {path for path in paths if not path.startswith(f"{address.mount}/")} <= {path for path, _ in OF_THE_LOGIN}


@pytest.mark.parametrize("name", ["*", "k*", "+", "{{x}}", 'k"', "..", "k k", "é"])
def test_patterns_and_quotes_are_refused(name: str) -> None:
    for uri in (f"hcvault://host/transit/keys/{name}", f"hcvault://host/{name}/keys/kek"):
        with pytest.raises(MisconfiguredError):
            transit_policy(uri, Role.APP)
    with pytest.raises(MisconfiguredError, match="a namespace is written in"):
        transit_policy("hcvault://host/transit/keys/kek", Role.APP, f"{name}\npath")


def test_the_page_shows_what_the_command_prints() -> None:
    page = (Path(__file__).parents[3] / "docs" / "keys-vault.md").read_text()
    shown = page.split("```hcl\n")[1].split("```")[0]
    assert shown == transit_policy("hcvault://vault.example.org:8200/transit/keys/noisevault", Role.APP) + "\n"
