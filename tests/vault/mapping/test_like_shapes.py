"""Models of like shape, with each kind of index: each asks with its own key, in one cache, and copies keep options."""

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Engine, Integer, MetaData, StaticPool, String, Table, Text, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column

from kms import Purpose
from tests.servers.not_run import need_module
from tests.sizes import sized
from tests.vault.tenancy import LOOKUP
from vault import (
    Argon2id,
    BlindIndex,
    CompoundIndex,
    Sealed,
    TenantVaults,
    attach,
    casefold,
    definition_of,
    digits,
    equal_together,
    exact,
    find_all,
    last_four,
    phone,
    via,
)
from vault.mapping.compound_index import compounds_of
from vault.mapping.definitions import all_term_columns, sealed_columns
from vault.normalise import Normaliser
from vault.opened import OpenedVault

SELECTS = 1_000  # of a slow index, whose every term takes 10 ms and more, only scripts/soak runs as many
LEAST = Argon2id(memory_kib=7 * 1024, iterations=1, lanes=1)
NUMBER = "020 7946 0018"
_names = count()


@dataclass(frozen=True)
class Kind:
    """index: of the column `value`, under a normaliser, or over both columns. ask: by it for NUMBER, the ids found."""

    index: Callable[[Normaliser], Any]
    ask: Callable[[Session, Any], list[int]]
    over_both: bool = False
    selects: int = SELECTS


def by_equality(session: Session, model: Any) -> list[int]:
    return list(session.scalars(select(model.id).where(model.value == NUMBER)))


def by_finding(session: Session, model: Any) -> list[int]:
    return [found.id for found in find_all(session, model, by={model.value: NUMBER})]


def by_part(session: Session, model: Any) -> list[int]:
    return [found.id for found in find_all(session, model, by={model.value: via("bidx", "0018")})]


def by_all(session: Session, model: Any) -> list[int]:
    asked = equal_together(model, index_of(model), {"value": NUMBER, "other": NUMBER})
    return list(session.scalars(select(model.id).where(asked)))


def by_finding_all(session: Session, model: Any) -> list[int]:
    return [found.id for found in find_all(session, model, by={index_of(model): {"value": NUMBER, "other": NUMBER}})]


def index_of(model: Any) -> str:
    (compound,) = compounds_of(model.__table__)
    return compound.declared.name


KINDS = {
    "full": Kind(BlindIndex, by_equality),
    "truncated": Kind(lambda rule: BlindIndex(rule, 8), by_finding),
    "partial": Kind(lambda _: BlindIndex(last_four), by_part),
    "slow": Kind(lambda rule: BlindIndex(rule, slow=LEAST), by_equality, selects=sized(100, SELECTS)),
    "shared": Kind(lambda rule: BlindIndex(rule, scope=f"scope{next(_names)}"), by_equality),
    "compound": Kind(lambda rule: CompoundIndex("whole", ("value", rule), "other"), by_all, over_both=True),
    "truncated compound": Kind(
        lambda rule: CompoundIndex("whole", ("value", rule), "other", bits=8), by_finding_all, over_both=True
    ),
}
OF_TENANTS = KINDS | {"another keyring": Kind(lambda rule: BlindIndex(rule, keyring=LOOKUP), by_equality)}


def model_of(metadata_: MetaData, kind: Kind, rule: Normaliser, **options: Any) -> Any:
    """A class of the shape that all have, in a table of its own."""

    class Base(DeclarativeBase):
        metadata = metadata_

    index = kind.index(rule)
    columns = {
        "id": mapped_column(Integer, primary_key=True, autoincrement=False),
        "tenant_id": mapped_column(String(40)),
        "value": mapped_column(Sealed(Text, index=() if kind.over_both else index, **options)),
        "other": mapped_column(Sealed(Text, **options)),
    }
    arguments = {"__table_args__": (index,)} if kind.over_both else {}
    return type("Model", (Base,), {"__tablename__": f"like{next(_names)}", **columns, **arguments})


class Compiled(dict[Any, Any]):
    """SQLAlchemy's cache of an engine, that counts what is compiled."""

    made = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        self.made += 1
        super().__setitem__(key, value)


def alternating(
    engine: Engine, models: tuple[Any, Any], kind: Kind, within: Callable[[int], AbstractContextManager[Any]]
) -> None:
    """Each model finds its own row, 1,000 selects in turns, of which each model's is compiled once."""
    for at, model in enumerate(models):
        with within(at), Session(engine) as session:
            session.add_all([
                model(id=at + 1, tenant_id="acme", value=NUMBER, other=NUMBER),
                model(id=at + 7, tenant_id="acme", value="0161 496 0007", other=NUMBER),
            ])  # fmt: skip
            session.commit()
    compiled = Compiled()
    cached = engine.execution_options(compiled_cache=compiled)
    sessions = [Session(cached) for _ in models]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(kind.selects // 2):
                for at, model in enumerate(models):
                    with within(at):
                        assert kind.ask(sessions[at], model) == [at + 1]
        assert compiled.made == 2
    finally:
        for session in sessions:
            session.close()
    terms = []
    for model in models:
        first = next(column for column in all_term_columns(model.__table__) if column.name.endswith("_a"))
        with engine.connect() as connection:
            terms.append(connection.scalar(text(f"SELECT {first.name} FROM {model.__tablename__} WHERE id IN (1, 2)")))
    assert terms[0] != terms[1], "the same value under another key"


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_k06_01_models_of_like_shape_keep_their_own_terms_in_one_cache(quick: Engine, kind: Kind) -> None:
    metadata = MetaData()
    models = (model_of(metadata, kind, exact), model_of(metadata, kind, digits))
    metadata.create_all(quick)
    alternating(quick, models, kind, lambda _: nullcontext())


@pytest.fixture
def of_tenants(vaults: TenantVaults) -> Iterator[Engine]:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    attach(engine, vaults)
    yield engine
    engine.dispose()


@pytest.mark.parametrize("kind", OF_TENANTS.values(), ids=list(OF_TENANTS))
def test_k06_01_tenants_share_what_is_compiled_and_not_their_terms(
    of_tenants: Engine, vaults: TenantVaults, kind: Kind
) -> None:
    """One model under one tenant, a like one under another."""
    metadata = MetaData()
    models = (model_of(metadata, kind, exact), model_of(metadata, kind, digits))
    metadata.create_all(of_tenants)
    alternating(of_tenants, models, kind, lambda at: vaults.tenant(("acme", "globex")[at]))


def test_k06_01_one_model_asks_with_the_key_of_each_tenant(of_tenants: Engine, vaults: TenantVaults) -> None:
    """One compiled statement for all tenants, one row each."""
    metadata, kind = MetaData(), KINDS["full"]
    model = model_of(metadata, kind, exact)
    metadata.create_all(of_tenants)
    names = ("acme", "globex")
    compiled = Compiled()
    cached = of_tenants.execution_options(compiled_cache=compiled)
    for at, name in enumerate(names):
        with vaults.tenant(name), Session(of_tenants) as session:
            session.add(model(id=at, value=NUMBER))
            session.commit()
    for turn in range(SELECTS):
        with vaults.tenant(names[turn % 2]), Session(cached) as session:
            assert kind.ask(session, model) == [turn % 2]
    assert compiled.made == 1


COPIED = OF_TENANTS | {"telephone": Kind(lambda _: BlindIndex(phone("GB")), by_equality)}


def options_of(table: Table) -> list[Any]:
    """What the definitions of a table say, apart from its name, and what its types show."""
    fields = [definition_of(column) for column in sealed_columns(table)]
    compounds = [compound.definition for compound in compounds_of(table)]
    said = [one.canonical_json().replace(table.name, "T") for one in (*fields, *compounds)]
    shown = [repr(column.type) for column in (*sealed_columns(table), *all_term_columns(table))]
    indexes = sorted((str(index.columns[0].name), bool(index.unique)) for index in table.indexes)
    return [said, shown, [column.name for column in table.columns], indexes]


@pytest.mark.parametrize("kind", COPIED.values(), ids=list(COPIED))
def test_k06_04_copies_keep_their_options_and_show_no_key(
    kind: Kind, opened: OpenedVault, vaults: TenantVaults, request: pytest.FixtureRequest
) -> None:
    if kind is COPIED["telephone"]:
        need_module(request.node, "phonenumbers")
    metadata = MetaData()
    options: dict[str, Any] = {"tenant": "tenant_id", "pad": 16, "bind": "id"}
    table: Table = model_of(metadata, kind, casefold, **options).__table__
    moved, renamed = MetaData(), MetaData()
    copies = [
        copy.deepcopy(metadata).tables[table.name],
        table.to_metadata(moved),
        table.to_metadata(renamed, name="renamed"),
        pickle.loads(pickle.dumps(moved)).tables[table.name],
    ]
    wanted = options_of(table)
    keyrings = [opened.keyring, vaults.vault("acme").keyring]
    keys = [k.sealing(purpose).key.secret.raw for k in keyrings for purpose in (Purpose.DATA, Purpose.INDEX)]
    for copied in copies:
        assert copied is not table
        assert options_of(copied) == wanted
        for column in copied.columns:
            assert hash(column.type) == hash(column.type)
            shown = repr(column.type) + repr(column) + repr(getattr(column.type, "_static_cache_key", None))
            assert not [key for key in keys if key.hex() in shown or repr(key) in shown]
    assert len({column.type for one in (table, *copies) for column in sealed_columns(one)}) == 2 * 5
