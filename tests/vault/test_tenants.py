"""Which keyring serves: by task and thread, opened late, let go of when there are too many."""

import asyncio
import contextvars
import copy
import gc
import os
import pickle
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kms import KeyringError, KeyStore
from kms.errors import UnknownProviderError
from kms.keyring import Keyring
from tests.vault.tenancy import TENANTS, Patient, Visa, new_tenants
from vault import (
    CannotOpenError,
    DefinitionChangedError,
    FieldDefinition,
    IndexChangedError,
    TenantError,
    TenantVaults,
    UnknownKeyError,
    definition_of,
    open_tenants,
)
from vault.mapping.compound_index import compounds_of

SSN = definition_of(Patient.ssn)
(WHOLE,) = (compound.definition for compound in compounds_of(Visa.__table__))  # type: ignore[arg-type]


@pytest.fixture
def vaults(tmp_path: Path) -> Iterator[TenantVaults]:
    made = new_tenants(tmp_path)
    yield made
    made.close()


def test_without_a_tenant_in_force_the_error_says_how(vaults: TenantVaults) -> None:
    assert vaults.in_force is None
    with pytest.raises(TenantError, match=r"with vaults\.tenant\(name\)"):
        vaults.current()


def test_a_tenant_is_in_force_within_its_block_only(vaults: TenantVaults) -> None:
    with vaults.tenant("acme"):
        assert vaults.current().keyring.name == "acme"
        with vaults.tenant("globex"):
            assert vaults.current().keyring.name == "globex"
        assert vaults.in_force == "acme"
        with pytest.raises(ZeroDivisionError), vaults.tenant("globex"):
            1 / 0  # noqa: B018
        assert vaults.in_force == "acme"
    assert vaults.in_force is None


@pytest.mark.parametrize("name", ["", None, 3, b"acme"])
def test_what_is_no_name_is_refused(vaults: TenantVaults, name: object) -> None:
    with pytest.raises(TenantError, match="named by a text"), vaults.tenant(name):  # type: ignore[arg-type]
        pass


def test_a_thread_begins_without_a_tenant_and_a_task_with_its_own(vaults: TenantVaults) -> None:
    async def task(name: str) -> str | None:
        with vaults.tenant(name):
            await asyncio.sleep(0)
            return await asyncio.to_thread(lambda: vaults.in_force)

    async def both() -> list[str | None]:
        return await asyncio.gather(task("acme"), task("globex"))

    with vaults.tenant("umbrella"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: vaults.in_force).result() is None
        assert pool.submit(contextvars.copy_context().run, lambda: vaults.in_force).result() == "umbrella"
        assert asyncio.run(both()) == ["acme", "globex"]


def test_nothing_is_opened_before_it_is_used_and_each_is_opened_once(tmp_path: Path) -> None:
    opened: list[str] = []
    made = new_tenants(tmp_path)

    def counted(name: str) -> Keyring:
        opened.append(name)
        return made._open_keyring(name)

    vaults = TenantVaults(made.key_store, counted)
    with vaults.tenant("acme"):
        assert opened == []
        with ThreadPoolExecutor(8) as pool:
            assert len({id(vault) for vault in pool.map(vaults.vault, ["acme"] * 64)}) == 1
        assert vaults.current() is vaults.vault("acme")
    assert opened == ["acme"]
    vaults.close()


def test_an_unknown_tenant_is_named_and_asked_for_again(vaults: TenantVaults) -> None:
    for _ in range(2):
        with pytest.raises(KeyringError, match="no keyring called 'nobody'"):
            vaults.vault("nobody")


def test_only_so_many_stay_open_and_those_in_use_live_on(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(12)]
    vaults = new_tenants(tmp_path, names, most_open=3)
    field = vaults.vault("t0").field(SSN)
    sealed = field.seal("x")
    gone = weakref.ref(vaults.vault("t1").keyring)
    for name in names[2:]:
        vaults.vault("t0")  # used all the time
        vaults.vault(name).field(SSN)
        assert len(vaults._open) <= 3
    assert "t0" in vaults._open
    gc.collect()
    assert gone() is None
    for name in names[1:]:
        vaults.vault(name)
    assert field.open(sealed) == "x"  # by whoever still has it
    assert vaults.vault("t0").field(SSN).open(sealed) == "x"
    vaults.close()
    with pytest.raises(TenantError, match="at least one"):
        TenantVaults(vaults.key_store, vaults._open_keyring, 0)


def test_definitions_are_registered_with_each_keyring(tmp_path: Path) -> None:
    vaults = new_tenants(tmp_path)
    vaults.vault("acme")
    vaults.declare([SSN])
    assert SSN in vaults.vault("acme")._fields
    assert SSN in vaults.vault("globex")._fields
    vaults.close()
    again = TenantVaults(KeyStore(vaults.key_store.engine), vaults._open_keyring)
    again.declare([FieldDefinition(SSN.table, SSN.column, "bytes/1")])
    with pytest.raises(DefinitionChangedError, match="codec recorded str/1"):
        again.vault("acme")
    again.vault("umbrella")  # in which it was not written yet
    again.close()


def test_indexes_over_columns_are_registered_with_each_keyring(tmp_path: Path) -> None:
    vaults = new_tenants(tmp_path)
    vaults.vault("acme")
    vaults.declare([], [WHOLE])
    assert WHOLE in vaults.vault("acme")._compounds
    assert WHOLE in vaults.vault("globex")._compounds
    vaults.close()
    again = TenantVaults(KeyStore(vaults.key_store.engine), vaults._open_keyring)
    again.declare([], [replace(WHOLE, bits=8)])
    with pytest.raises(IndexChangedError, match=r"recorded .* 16 bits, declared .* 8 bits"):
        again.vault("acme")
    again.vault("umbrella")
    again.close()


def test_a_value_of_one_tenant_opens_under_no_other(vaults: TenantVaults) -> None:
    fields = {name: vaults.vault(name).field(SSN) for name in TENANTS}
    sealed, terms = fields["acme"].seal("x"), fields["acme"].terms("x")
    assert sealed is not None
    for other in ("globex", "umbrella"):
        assert not set(terms.values()) & set(fields[other].terms("x").values()) - {None}
        with pytest.raises(UnknownKeyError, match="written under another keyring"):
            fields[other].open(sealed)
        own = fields[other].seal("y")
        assert own is not None
        with pytest.raises(CannotOpenError):
            fields[other].open(sealed[:2] + own[2:6] + sealed[6:])  # the other's key id in the header
    assert fields["acme"].open(sealed) == "x"


def test_a_tenant_is_warmed_beside_the_loop(vaults: TenantVaults) -> None:
    assert len(asyncio.run(vaults.warm_async("acme"))) == 3


def test_closed_vaults_open_nothing(vaults: TenantVaults) -> None:
    field = vaults.vault("acme").field(SSN)
    field.seal("x")
    vaults.close()
    with pytest.raises(KeyringError, match="closed"):
        field.seal("x")
    with pytest.raises(TenantError, match="closed"):
        vaults.vault("globex")


def test_vaults_are_neither_pickled_nor_shown(vaults: TenantVaults) -> None:
    vaults.vault("acme")
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            copied(vaults)
    assert repr(vaults) == "<vaults of tenants, 1 open>"


@pytest.mark.parametrize("own_kek", [False, True])
def test_one_kek_wraps_for_all_or_each_tenant_has_its_own(tmp_path: Path, own_kek: bool) -> None:
    new_tenants(tmp_path).close()
    asked: list[str] = []

    def uri_of(name: str) -> str:
        asked.append(name)
        return f"local:{tmp_path / 'kek'}"

    vaults = open_tenants(f"sqlite:///{tmp_path / 'keys.db'}", uri_of if own_kek else uri_of("all"))
    field = vaults.vault("acme").field(SSN)
    assert field.open(field.seal("x")) == "x"
    vaults.vault("acme")
    assert asked == (["acme"] if own_kek else ["all"])
    vaults.close()
    if not own_kek:
        with pytest.raises(UnknownProviderError):
            open_tenants(f"sqlite:///{tmp_path / 'keys.db'}", "nothing:here")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_its_parents_locks(vaults: TenantVaults) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with vaults._changing:
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if vaults.vault("acme").keyring.name == "acme" else 1)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
