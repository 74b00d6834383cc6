"""Keys under a key on a real token (SoftHSM): what comes back, what is refused, and what happens when it goes away."""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyFileError,
    KeyNotFoundError,
    KmsError,
    MisconfiguredError,
    UnavailableError,
)
from kms.open_provider import open_provider
from kms.provider import Opens, Wrapped
from kms.provider_settings import ProviderSettings
from kms.providers.pkcs11 import Pkcs11Provider
from kms.providers.pkcs11_address import Pkcs11Address, kek_identity
from kms.providers.pkcs11_module import loaded_module
from kms.secret import SecretKey, SecretText
from tests.kms.providers.transit import frames_of
from tests.servers.softhsm import PIN, TEMPLATE, Token

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY, OTHER = SecretKey(bytes(range(32))), SecretKey(bytes(32))


def opened(uri: str, **settings: Any) -> Pkcs11Provider:
    provider = open_provider(uri, ProviderSettings(**settings))
    assert isinstance(provider, Pkcs11Provider)
    return provider


def test_what_is_wrapped_unwraps_in_order_in_its_place_only(token: Token) -> None:
    provider = opened(token.uri())
    one, two = provider.wrap(KEY, b"one"), provider.wrap(OTHER, b"two")
    assert provider.unwrap([(one, b"one"), (two, b"two"), (one, b"one")]) == [KEY, OTHER, KEY]
    assert provider.unwrap([]) == []
    with pytest.raises(CannotUnwrapError, match="does not authenticate"):
        provider.unwrap([(one, b"one"), (two, b"one")])
    assert provider.unwrap([(one, b"one")]) == [KEY]


def test_the_exact_key_is_recorded_however_it_was_asked_for(token: Token) -> None:
    exact = f"pkcs11:serial={token.serial};id=%01;object=kek"
    for key in ("object=kek", "id=%01", "object=kek;id=%01;type=secret-key", f"serial={token.serial};object=kek"):
        wrapped = opened(token.uri(key)).wrap(KEY, b"")
        assert (wrapped.kek, wrapped.kek_version) == (exact, "1")
    provider = opened(token.uri())
    assert provider.kek == f"pkcs11:token={token.label};object=kek"
    provider.wrap(KEY, b"")
    assert provider.kek == exact


@pytest.mark.parametrize("position", [0, 11, 12, 43, 44, 59])
def test_a_changed_bit_is_noticed(token: Token, position: int) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"place")
    changed = bytearray(wrapped.ciphertext)
    changed[position] ^= 1
    with pytest.raises(CannotUnwrapError, match="changed or moved"):
        provider.unwrap([(Wrapped(bytes(changed), wrapped.kek, "1"), b"place")])


@pytest.mark.parametrize("size", [0, 11, 12, 28])
def test_bytes_that_are_too_short_are_refused(token: Token, size: int) -> None:
    with pytest.raises(CannotUnwrapError, match="too short"):
        opened(token.uri()).unwrap([(Wrapped(bytes(size), "", "1"), b"")])


def test_the_bytes_are_those_of_aes_gcm_elsewhere(token: Token) -> None:
    """The layout of docs/formats.md, against cryptography, by a key that both know."""
    known = bytes(range(100, 132))
    token.run(
        f"session.create_object({{A.CLASS: ObjectClass.SECRET_KEY, A.KEY_TYPE: KeyType.AES, A.VALUE: {known!r},"
        " A.LABEL: 'known', A.TOKEN: True, A.PRIVATE: True, A.SENSITIVE: True, A.EXTRACTABLE: False, A.ENCRYPT: True,"
        " A.DECRYPT: True})"
    )
    provider = Pkcs11Provider.from_uri(token.uri("object=known"))
    wrapped = provider.wrap(KEY, b"context")
    iv, sealed = wrapped.ciphertext[:12], wrapped.ciphertext[12:]
    assert AESGCM(known).encrypt(iv, KEY.raw, b"context") == sealed
    elsewhere = bytes(12) + AESGCM(known).encrypt(bytes(12), OTHER.raw, b"context")
    assert provider.unwrap([(Wrapped(elsewhere, wrapped.kek, "1"), b"context")]) == [OTHER]
    short = bytes(12) + AESGCM(known).encrypt(bytes(12), b"a few bytes", b"")
    with pytest.raises(CannotUnwrapError, match="is no key") as raised:
        provider.unwrap([(Wrapped(short, wrapped.kek, "1"), b"")])
    assert "a few bytes" not in frames_of(raised.value)


def test_two_wraps_of_one_key_differ(token: Token) -> None:
    provider = opened(token.uri())
    assert provider.wrap(KEY, b"").ciphertext[:12] != provider.wrap(KEY, b"").ciphertext[:12]


def test_another_key_is_told_by_its_identity(token: Token) -> None:
    token.make_key(label="second", key_id=b"\x02")
    wrapped = opened(token.uri()).wrap(KEY, b"")
    with pytest.raises(CannotUnwrapError, match=r"wrapped by pkcs11:serial=.*id=%01.*but the key is .*id=%02"):
        opened(token.uri("object=second")).unwrap([(wrapped, b"")])


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("A.EXTRACTABLE: True", "can be read out"),
        ("A.SENSITIVE: False", "can be read out"),
        ("A.DECRYPT: False", "may encrypt and decrypt"),
    ],
)
def test_a_key_that_could_leave_or_cannot_work_is_refused(token: Token, template: str, said: str) -> None:
    token.make_key(label="bad", template=template)
    with pytest.raises(MisconfiguredError, match=said):
        opened(token.uri("object=bad")).wrap(KEY, b"")


def test_a_shorter_key_is_refused(token: Token) -> None:
    token.make_key(label="short", bits=128)
    with pytest.raises(MisconfiguredError, match="not an AES-256 key"):
        opened(token.uri("object=short")).wrap(KEY, b"")


def test_what_is_not_there_is_told_apart(token: Token, tmp_path: Path) -> None:
    with pytest.raises(KeyNotFoundError, match=r"no AES key pkcs11:token=.*object=none"):
        opened(token.uri("object=none")).wrap(KEY, b"")
    with pytest.raises(MisconfiguredError, match="there is no token for pkcs11:token=none"):
        opened(token.uri().replace(token.label, "none", 1)).wrap(KEY, b"")
    for module in (tmp_path / "missing.so", token.pin_file):
        with pytest.raises(MisconfiguredError, match="cannot be loaded as a PKCS#11 module"):
            opened(token.uri(**{"module-path": str(module)})).wrap(KEY, b"")
    token.make_key(key_id=b"\x02")
    with pytest.raises(MisconfiguredError, match=r"several keys fit .*: add id="):
        opened(token.uri()).wrap(KEY, b"")
    opened(token.uri("object=kek;id=%02")).wrap(KEY, b"")


def test_a_wrong_pin_is_sent_once_and_a_new_one_is_taken(token: Token) -> None:
    """A token locks after a few tries; many keyrings of one process must not use them up."""
    token.pin_file.write_text("hunter2")
    for said in ("the token refuses the PIN", "refused this PIN .* before", "refused this PIN .* before"):
        with pytest.raises(AccessDeniedError, match=said) as raised:
            opened(token.uri()).wrap(KEY, b"")
        assert "hunter2" not in "".join(traceback.format_exception(raised.value))
    token.pin_file.write_text(f"{PIN}\r\n")
    opened(token.uri()).wrap(KEY, b"")


def test_k14_a_pin_that_is_no_text_is_refused_and_in_no_error(token: Token) -> None:
    pin = SecretText("hunter2\udce9")
    with pytest.raises(MisconfiguredError, match="write it in UTF-8") as raised:
        opened(token.uri(**{"pin-source": ""}), pin=pin).wrap(KEY, b"")
    assert "hunter2" not in frames_of(raised.value)


def test_the_pin_comes_from_one_place(token: Token) -> None:
    wrapped = opened(token.uri(**{"pin-source": ""}), pin=SecretText(PIN)).wrap(KEY, b"")
    assert opened(token.uri()).unwrap([(wrapped, b"")]) == [KEY]
    for pin, uri in [(SecretText(PIN), token.uri()), (None, token.uri(**{"pin-source": ""}))]:
        with pytest.raises(MisconfiguredError, match="needs its PIN in one place"):
            opened(uri, pin=pin)


def test_a_pin_file_is_as_private_as_a_key_file(token: Token) -> None:
    token.pin_file.chmod(0o644)
    with pytest.raises(KeyFileError, match=r"PIN file .* chmod 600"):
        opened(token.uri()).wrap(KEY, b"")
    token.pin_file.chmod(0o600)
    token.pin_file.write_text("\n")
    with pytest.raises(MisconfiguredError, match="holds no PIN"):
        opened(token.uri()).wrap(KEY, b"")


def test_a_token_that_goes_away_is_unavailable_and_found_again(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    token.take_away()
    for _ in range(2):
        with pytest.raises(UnavailableError, match="not there any more"):
            provider.unwrap([(wrapped, b"")])
        with pytest.raises(UnavailableError, match="not there any more") as raised:
            provider.wrap(KEY, b"")
        assert repr(KEY.raw) not in frames_of(raised.value)
        assert raised.value.__context__ is None
    token.bring_back()
    assert provider.unwrap([(wrapped, b"")]) == [KEY]


def test_a_session_that_is_lost_is_opened_once_more(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    module = loaded_module(token.module)
    module._library.finalize()
    assert provider.unwrap([(wrapped, b"")]) == [KEY]
    for session in module._sessions.values():
        session.close()
    assert provider.unwrap([(wrapped, b"")]) == [KEY]


def test_a_key_that_is_destroyed_meanwhile_is_not_found(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    token.run("session.get_key(label='kek').destroy()")
    with pytest.raises(KeyNotFoundError):
        provider.unwrap([(wrapped, b"")])
    token.make_key()
    with pytest.raises(CannotUnwrapError):
        provider.unwrap([(wrapped, b"")])


def test_two_tokens_of_one_module_do_not_disturb_each_other(token: Token, other_token: Token) -> None:
    one, two = opened(token.uri()), opened(other_token.uri())
    wrapped = [(one, one.wrap(KEY, b"")), (two, two.wrap(OTHER, b""))]
    token.take_away()
    with pytest.raises(UnavailableError):
        one.unwrap([(wrapped[0][1], b"")])
    assert two.unwrap([(wrapped[1][1], b"")]) == [OTHER]
    token.bring_back()
    assert [provider.unwrap([(w, b"")]) for provider, w in wrapped] == [[KEY], [OTHER]]


def test_threads_share_a_provider(token: Token) -> None:
    provider = opened(token.uri())
    start = threading.Barrier(8)

    def work(number: int) -> bool:
        start.wait()
        place = str(number).encode()
        key = SecretKey(bytes([number]) * 32)
        return all(provider.unwrap([(provider.wrap(key, place), place)]) == [key] for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def in_fork(work: Any) -> str:
    """What work() gives, or the error it raises, in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            os.write(writing, f"{work()}".encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(child, 0)
    return text


def test_a_forked_child_opens_the_token_itself(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    assert in_fork(lambda: provider.unwrap([(provider.wrap(KEY, b"x"), b"x"), (wrapped, b"")]) == [KEY, KEY]) == "True"
    assert in_fork(lambda: in_fork(lambda: provider.unwrap([(wrapped, b"")]) == [KEY])) == "True"
    assert provider.unwrap([(wrapped, b"")]) == [KEY]
    assert in_fork(lambda: opened(token.uri()).unwrap([(wrapped, b"")]) == [KEY]) == "True"


def test_a_forked_child_initialises_the_module_anew_and_uses_no_handle_of_its_parent(token: Token) -> None:
    """SoftHSM would bear it; the standard does not promise that others do. Fork and start are an epoch each."""
    provider, module = opened(token.uri()), loaded_module(token.module)
    provider.wrap(KEY, b"")
    before = module.epoch
    assert in_fork(lambda: provider.wrap(KEY, b"") and module.epoch - before) == "2"
    assert in_fork(lambda: provider.wrap(KEY, b"") and provider.wrap(KEY, b"") and module.epoch - before) == "2"
    assert module.epoch == before


def test_a_child_forked_in_the_midst_of_a_call_refuses_and_says_what_to_do(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    with loaded_module(token.module).lock:  # as another thread has it while the token works
        said = in_fork(lambda: provider.unwrap([(wrapped, b"")]))
    assert said.startswith("MisconfiguredError: this process was forked in the midst of a call")
    assert "by spawn" in said
    assert provider.unwrap([(wrapped, b"")]) == [KEY]


def test_nothing_secret_is_printed(token: Token) -> None:
    provider = opened(token.uri(**{"pin-source": ""}), pin=SecretText(PIN))
    wrapped = provider.wrap(KEY, b"place")
    with pytest.raises(KmsError) as raised:
        provider.unwrap([(wrapped, b"other")])
    assert raised.value.__cause__ is None
    shown = f"{frames_of(raised.value)} {provider!r} {wrapped!r} {''.join(traceback.format_exception(raised.value))}"
    assert KEY.raw.hex() not in shown
    assert repr(PIN) not in shown


def test_a_missing_extra_is_told_as_such() -> None:
    program = (
        "import sys; sys.modules['pkcs11'] = None\n"
        "from kms import MissingExtraError, open_provider\n"
        "try: open_provider('pkcs11:token=t;object=k?module-path=/m.so&pin-source=file:/p')\n"
        "except MissingExtraError as error: print(error, error.__cause__)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'noisevault[pkcs11]'" in said
    assert said.strip().endswith("None")


def test_the_newest_key_is_the_one_that_wraps(token: Token) -> None:
    newest, wrapped = opened(token.uri()).newest(), opened(token.uri()).wrap(KEY, b"p")
    assert newest == (wrapped.kek, wrapped.kek_version)


VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "kms_pkcs11.json").read_text())


def test_a_token_wraps_and_opens_as_the_vectors_say(token: Token) -> None:
    """The vectors' keys are put on the token, which then is the only one that has them."""
    providers = {}
    for number, kek in enumerate(sorted({test["kek"] for test in VECTORS["tests"]})):
        token.run(
            "session.create_object({A.CLASS: ObjectClass.SECRET_KEY, A.KEY_TYPE: KeyType.AES, A.TOKEN: True,"
            f" A.VALUE: bytes.fromhex('{kek}'), A.LABEL: 'vector {number}', {TEMPLATE}}})"
        )
        address = Pkcs11Address.parse(token.uri(f"object=vector%20{number}"))
        providers[kek] = Pkcs11Provider(address, random=lambda n: bytes.fromhex(VECTORS["tests"][0]["iv"])[:n])
    for test in VECTORS["tests"]:
        provider, place = providers[test["kek"]], bytes.fromhex(test["context"])
        wrapped = Wrapped(bytes.fromhex(test["wrapped"]), provider.newest()[0], "1")
        if test["result"] == "valid":
            assert provider.unwrap([(wrapped, place)]) == [SecretKey(bytes.fromhex(test["key"]))], test["comment"]
            assert provider.wrap(SecretKey(bytes.fromhex(test["key"])), place) == wrapped, test["comment"]
        else:
            with pytest.raises(CannotUnwrapError):
                provider.unwrap([(wrapped, place)])


def test_an_identity_is_spelled_as_the_vectors_say() -> None:
    for one in VECTORS["identities"]:
        assert kek_identity(one["serial"], bytes.fromhex(one["id"]), one["label"]) == one["identity"]


def test_the_vectors_are_those_that_their_script_writes() -> None:
    script = Path(__file__).parents[2] / "vectors" / "write_kms_pkcs11_vectors.py"
    assert runpy.run_path(str(script))["text"]() == script.with_name("kms_pkcs11.json").read_text()


def test_it_opens_its_key_and_perhaps_one_that_was_renamed(token: Token, other_token: Token) -> None:
    provider = opened(token.uri())
    assert provider.opens("local:8963") is Opens.NO
    assert provider.opens(f"pkcs11:serial={token.serial};id=%01;object=kek") is Opens.SURELY
    assert provider.opens(f"pkcs11:serial={token.serial};id=%01;object=renamed") is Opens.PERHAPS
    assert provider.opens(f"pkcs11:serial={token.serial};id=%02;object=other") is Opens.NO
    assert provider.opens(f"pkcs11:serial={other_token.serial};id=%01;object=kek") is Opens.NO


def test_while_its_token_is_away_it_may_open_any_token_key(token: Token) -> None:
    provider = opened(token.uri("object=kek;id=%03"))
    assert provider.opens(f"pkcs11:serial={token.serial};id=%01;object=kek") is Opens.PERHAPS
    assert provider.opens("awskms://") is Opens.NO


def test_the_very_key_is_taken_off_its_token_and_again_is_no_failure(token: Token, other_token: Token) -> None:
    token.make_key(label="second", key_id=b"\x02")
    provider, second, other = opened(token.uri()), opened(token.uri("object=second")), opened(other_token.uri())
    wrapped, kept = provider.wrap(KEY, b""), second.wrap(KEY, b"")
    for kek in (kept.kek, other.wrap(KEY, b"").kek, "local:8963"):
        with pytest.raises(CannotUnwrapError, match="give the URI of the right one"):
            provider.destroy_kek(kek, waiting_days=30, now=NOW)
    provider.require_destroyable(wrapped.kek)
    for again in (provider, provider, opened(token.uri()), opened(token.uri("id=%01"))):
        end = again.destroy_kek(wrapped.kek, waiting_days=30, now=NOW)
        assert (end.kek, end.effective, end.final) == (wrapped.kek, NOW, True)
        with pytest.raises(KeyNotFoundError):
            again.unwrap([(wrapped, b"")])
    with pytest.raises(CannotUnwrapError):  # of a key that is not there either, but that is not this one
        provider.require_destroyable(other.kek)
    assert second.unwrap([(kept, b"")]) == [KEY]
    assert other.unwrap([(other.wrap(KEY, b""), b"")]) == [KEY]


def test_a_token_that_is_away_destroys_nothing(token: Token) -> None:
    provider = opened(token.uri())
    wrapped = provider.wrap(KEY, b"")
    token.take_away()
    provider._module.start_anew()
    with pytest.raises(UnavailableError):
        provider.destroy_kek(wrapped.kek, waiting_days=30, now=NOW)
    token.bring_back()
    assert provider.unwrap([(wrapped, b"")]) == [KEY]
