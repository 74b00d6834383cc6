from datetime import timedelta

from kms.key_database import reading
from kms.key_store import KeyStore
from kms.keyring import Keyring
from vault.changeover.history import read_history
from vault.changeover.phase import Phase, Subject
from vault.changeover.store import ChangeoverStore

NAME, BORN = Subject("patients", "name", ""), Subject("patients", "born", "")


def test_it_says_who_did_what_and_why_of_one_or_of_all(store: KeyStore, keyring: Keyring) -> None:
    changeovers = ChangeoverStore(store, keyring.id, timedelta(0))
    changeovers.begin(NAME, "plaintext", "sealed", Phase.OLD, who="ann", why="to seal it")
    changeovers.begin(BORN, "plaintext", "sealed", Phase.OLD, who="bob", why="this as well")
    changeovers.step(NAME, Phase.DUAL_ASK_OLD, [], who="ann", why="deployed")
    with reading(store.engine) as connection:
        everything = read_history(connection, keyring.id)
        of_name = read_history(connection, keyring.id, NAME)
        assert read_history(connection, bytes(16)) == []
    assert [(e.number, e.who, e.why) for e in everything] == [
        (1, "ann", "to seal it"),
        (2, "bob", "this as well"),
        (3, "ann", "deployed"),
    ]
    assert [(e.number, e.before, e.after, e.old, e.new) for e in of_name] == [
        (1, None, Phase.OLD, "plaintext", "sealed"),
        (3, Phase.OLD, Phase.DUAL_ASK_OLD, "plaintext", "sealed"),
    ]
    assert everything[0].at <= everything[1].at <= everything[2].at
