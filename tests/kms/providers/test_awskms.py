"""The AWS KMS provider, and keyrings on it, against an imitation of AWS; what it cannot do is injected and says so."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kms.errors import (
    AccessDeniedError,
    CannotUnwrapError,
    KeyDisabledError,
    KmsError,
    UnavailableError,
)
from kms.key_database import writing
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.key_tables import key_table
from kms.keyring import Keyring
from kms.open_provider import open_provider
from kms.patience import Patience
from kms.provider import Opens, Wrapped
from kms.providers.awskms import AT_ONCE, NOT_TOLD, AwsKmsProvider
from kms.secret import SecretKey
from tests.kms.manual_clock import ManualClock
from tests.kms.providers.aws import ACCOUNT, REGION, Aws, answers, failing, injected, place, sent_by
from tests.kms.providers.transit import b64, frames_of
from tests.sizes import sized

KEY = SecretKey(bytes(range(32)))
DATA = Purpose.DATA


def test_what_is_wrapped_unwraps_in_order(aws: Aws) -> None:
    arn = aws.create_key()
    provider = open_provider(f"awskms://{arn}", aws.settings())
    assert isinstance(provider, AwsKmsProvider)
    keys = [SecretKey(os.urandom(size)) for size in (16, 32, 64)]
    pairs = [(provider.wrap(key, place(n)), place(n)) for n, key in enumerate(keys, 1)]
    assert provider.unwrap(pairs) == keys
    assert provider.unwrap([]) == []
    assert {(wrapped.kek, wrapped.kek_version) for wrapped, _ in pairs} == {(f"awskms://{arn}", NOT_TOLD)}


@pytest.mark.parametrize("operation", ["wrap", "unwrap", "rewrap"])
def test_what_is_sent_pins_key_context_and_algorithm(aws: Aws, operation: str) -> None:
    arn = aws.create_key()
    provider = aws.provider(arn)
    wrapped = provider.wrap(KEY, place())
    sent = sent_by(provider)
    context = {
        "noisevault": "1 wrap",
        "keyring": "000102030405060708090a0b0c0d0e0f",
        "purpose": "data",
        "key_id": "00000001",
        "sequence": "1",
    }
    blob, algorithm = b64(wrapped.ciphertext), "SYMMETRIC_DEFAULT"
    match operation:
        case "wrap":
            provider.wrap(KEY, place())
            expected = {"KeyId": arn, "Plaintext": b64(KEY.raw), "EncryptionContext": context}
            assert sent == [("Encrypt", expected | {"EncryptionAlgorithm": algorithm})]
        case "unwrap":
            provider.unwrap([(wrapped, place())])
            expected = {"KeyId": arn, "CiphertextBlob": blob, "EncryptionContext": context}
            assert sent == [("Decrypt", expected | {"EncryptionAlgorithm": algorithm})]
        case _:
            provider.rewrap([(wrapped, place())])
            expected = {"SourceKeyId": arn, "DestinationKeyId": arn, "CiphertextBlob": blob}
            expected |= {"SourceEncryptionContext": context, "DestinationEncryptionContext": context}  # type: ignore[dict-item]
            expected |= {"SourceEncryptionAlgorithm": algorithm, "DestinationEncryptionAlgorithm": algorithm}
            assert sent == [("ReEncrypt", expected)]


@pytest.mark.parametrize("spelling", ["alias of the login", "alias ARN"])
def test_k13_05_a_moved_alias_leaves_old_data_readable_and_names_the_new_key(aws: Aws, spelling: str) -> None:
    first, second = aws.create_key(), aws.create_key()
    alias = f"alias/app-{first[-12:]}"
    aws.admin.create_alias(AliasName=alias, TargetKeyId=first)
    uri = f"awskms://{alias}?region={REGION}" if "login" in spelling else f"arn:aws:kms:{REGION}:{ACCOUNT}:{alias}"
    old = aws.provider(uri).wrap(KEY, place(1))
    aws.admin.update_alias(AliasName=alias, TargetKeyId=second)
    provider = aws.provider(uri)
    new = provider.wrap(KEY, place(2))
    assert (old.kek, new.kek) == (f"awskms://{first}", f"awskms://{second}")
    assert provider.unwrap([(old, place(1)), (new, place(2))]) == [KEY, KEY]
    (moved,) = provider.rewrap([(old, place(1))])
    assert moved.kek == f"awskms://{second}"
    aws.admin.delete_alias(AliasName=alias)
    assert provider.unwrap([(old, place(1)), (moved, place(1))]) == [KEY, KEY]


def test_a_key_of_another_account_is_not_asked_for_even_when_the_address_names_no_account(aws: Aws) -> None:
    """Without an account the bare key id is sent, which KMS looks for in the login's account; the answer must match."""
    arn = aws.create_key()
    alias = f"alias/app-{arn[-12:]}"
    aws.admin.create_alias(AliasName=alias, TargetKeyId=arn)
    provider = aws.provider(f"awskms://{alias}?region={REGION}")
    wrapped = provider.wrap(KEY, place())
    sent = sent_by(provider)
    foreign = Wrapped(wrapped.ciphertext, wrapped.kek.replace(ACCOUNT, "999999999999"), wrapped.kek_version)
    for operation in (provider.unwrap, provider.rewrap):
        with pytest.raises(CannotUnwrapError, match="opened by another key"):
            operation([(foreign, place())])
    assert [members.get("KeyId", members.get("SourceKeyId")) for _, members in sent] == [arn.rpartition("/")[2]] * 2


def test_an_answer_by_another_key_is_refused(aws: Aws) -> None:
    """Injected: a service that ignores the KeyId, as some imitations of AWS do."""
    arn, other = aws.create_key(), aws.create_key()
    provider = aws.provider(arn)
    wrapped = provider.wrap(KEY, place())
    answers(provider, "Decrypt", injected("", 200, f'{{"KeyId": "{other}", "Plaintext": "{b64(KEY.raw)}"}}'.encode()))
    with pytest.raises(CannotUnwrapError, match="opened by another key"):
        provider.unwrap([(wrapped, place())])


@pytest.mark.parametrize("content", [b"", b"short", bytes(65)])
def test_what_is_no_key_is_refused(aws: Aws, content: bytes) -> None:
    """Injected: only another holder of the KEK can make such a row."""
    arn = aws.create_key()
    provider = aws.provider(arn)
    wrapped = provider.wrap(KEY, place())
    answers(provider, "Decrypt", injected("", 200, f'{{"KeyId": "{arn}", "Plaintext": "{b64(content)}"}}'.encode()))
    with pytest.raises(CannotUnwrapError, match="is no key"):
        provider.unwrap([(wrapped, place())])


def test_rewrapped_keys_are_the_same_keys_and_never_seen(aws: Aws) -> None:
    old, new = aws.create_key(), aws.create_key()
    pairs = [(aws.provider(old).wrap(KEY, place(n)), place(n)) for n in range(1, 12)]
    provider = aws.provider(new)
    sent = sent_by(provider)
    moved = provider.rewrap(pairs)
    assert {wrapped.kek for wrapped in moved} == {f"awskms://{new}"}
    assert [operation for operation, _ in sent] == ["ReEncrypt"] * 11
    assert provider.unwrap([(w, c) for w, (_, c) in zip(moved, pairs, strict=True)]) == [KEY] * 11
    with pytest.raises(CannotUnwrapError):
        provider.unwrap([(moved[0], place(2))])


@pytest.mark.parametrize(("told", "recorded"), [("ab" * 32, "ab" * 32), ("ab", NOT_TOLD), ("AB" * 32, NOT_TOLD)])
def test_the_key_material_is_recorded_where_it_is_told(aws: Aws, told: str, recorded: str) -> None:
    """Injected: the imitation has no key material ids."""
    arn = aws.create_key()
    provider = aws.provider(arn)
    wrapped = provider.wrap(KEY, place())
    body = (
        f'{{"KeyId": "{arn}", "SourceKeyId": "{arn}", "CiphertextBlob": "AAAA", "DestinationKeyMaterialId": "{told}"}}'
    )
    answers(provider, "ReEncrypt", injected("", 200, body.encode()))
    assert provider.rewrap([(wrapped, place())]) == [Wrapped(bytes(3), f"awskms://{arn}", recorded)]


def test_many_keys_take_one_call_each_a_few_at_a_time(aws: Aws) -> None:
    provider = aws.provider(aws.create_key())
    pairs = [(provider.wrap(SecretKey(bytes([n]) * 32), place(n)), place(n)) for n in range(1, 31)]
    sent = sent_by(provider)
    here, most, lock = 0, 0, threading.Lock()

    def slow(_: Any) -> None:
        nonlocal here, most
        with lock:
            here, most = here + 1, max(most, here + 1)
        time.sleep(0.005)
        with lock:
            here -= 1

    answers(provider, "Decrypt", slow)
    assert provider.unwrap(pairs) == [SecretKey(bytes([n]) * 32) for n in range(1, 31)]
    assert len(sent) == 30
    assert 1 < most <= AT_ONCE


def test_k13_03_a_bad_one_among_many_shifts_no_other(aws: Aws) -> None:
    """All or nothing here; a keyring then asks for each alone, as the test of warm() below shows."""
    provider = aws.provider(aws.create_key())
    pairs = [(provider.wrap(SecretKey(bytes([n]) * 32), place(n)), place(n)) for n in range(1, 6)]
    pairs[2] = (pairs[3][0], place(3))
    with pytest.raises(CannotUnwrapError):
        provider.unwrap(pairs)
    del pairs[2]
    assert provider.unwrap(pairs) == [SecretKey(bytes([n]) * 32) for n in (1, 2, 4, 5)]


@pytest.mark.parametrize("stays", [False, True])
def test_k13_03_injected_throttling_in_the_midst_of_a_rewrap_shifts_and_loses_no_key(
    aws: Aws, store: KeyStore, stays: bool
) -> None:
    provider = aws.provider(aws.create_key(), Patience(attempts=5, deadline=60, sleep=lambda _: None))
    keyring = Keyring.create(store, provider, "main")
    for _ in range(sized(3, 5) * AT_ONCE):
        keyring.lifecycle.prepare(DATA)
    before, keys = keyring.records(), {r.key_id: keyring.opening(r.purpose, r.key_id) for r in keyring.records()}
    counting, throttled, asked = threading.Lock(), injected("ThrottlingException"), 0

    def give(request: Any) -> Any:
        nonlocal asked
        with counting:
            asked += 1
            refused = asked > 2 * AT_ONCE if stays else asked % 3 == 0
        return throttled(request) if refused else None

    answers(provider, "ReEncrypt", give)
    if stays:
        with pytest.raises(UnavailableError, match="too many requests"):
            keyring.lifecycle.rewrap()
        assert keyring.records() == before
    else:
        assert len(keyring.lifecycle.rewrap()) == len(keys)
        assert asked > len(keys)
    fresh = Keyring.open(store, aws.provider(provider.uri), "main")
    assert {r.key_id: fresh.opening(r.purpose, r.key_id) for r in fresh.records()} == keys


def test_one_key_is_asked_for_where_it_is_needed(aws: Aws) -> None:
    """No thread: a process that is going down begins none any more."""
    provider = aws.provider(aws.create_key())
    wrapped = provider.wrap(KEY, place())
    threads: list[int] = []
    answers(provider, "*", lambda _: threads.append(threading.get_ident()))
    provider.unwrap([(wrapped, place())])
    assert threads == [threading.get_ident()]


def test_an_outage_is_not_met_by_each_of_many_keys(aws: Aws) -> None:
    provider = aws.provider(aws.create_key(), Patience(attempts=1))
    wrapped = provider.wrap(KEY, place())
    sent = sent_by(provider)
    with failing(provider, "ThrottlingException"), pytest.raises(UnavailableError):
        provider.unwrap([(wrapped, place())] * 200)
    assert len(sent) <= AT_ONCE


def test_a_call_for_many_keys_ends_by_its_deadline(aws: Aws) -> None:
    provider = aws.provider(aws.create_key(), Patience(deadline=0.5), timeout=5)
    wrapped = provider.wrap(KEY, place())
    begun = time.monotonic()
    with pytest.raises(UnavailableError, match="until its deadline"):
        provider.unwrap([(wrapped, place())] * 5000)
    assert time.monotonic() - begun < 0.5 + 5
    assert provider.unwrap([(wrapped, place())] * 2) == [KEY] * 2


def test_the_deadline_of_the_settings_is_kept_to(aws: Aws) -> None:
    """The endpoint is gone; it is asked again and again, until then."""
    settings = aws.settings(aws_endpoint="http://127.0.0.1:1", deadline=0.5, timeout=1)
    provider = AwsKmsProvider.from_uri("awskms://arn:aws:kms:eu-central-1:123456789012:alias/x", settings)
    begun = time.monotonic()
    with pytest.raises(UnavailableError):
        provider.wrap(KEY, place())
    assert time.monotonic() - begun < 0.5 + 1 + 1
    assert provider._patience.deadline == 0.5


def test_injected_throttling_that_passes_is_not_seen(aws: Aws) -> None:
    provider = aws.provider(aws.create_key())
    codes = ["ThrottlingException", "KMSInternalException"]
    answers(provider, "Encrypt", lambda request: injected(codes.pop(0))(request) if codes else None)
    assert provider.unwrap([(provider.wrap(KEY, place()), place())]) == [KEY]
    assert codes == []


def test_injected_throttling_that_stays_is_told_after_as_many_attempts_as_we_say(aws: Aws) -> None:
    waits: list[float] = []
    provider = aws.provider(aws.create_key(), Patience(attempts=3, sleep=waits.append))
    made: list[int] = []
    answers(provider, "*", lambda request: made.append(1) or injected("ThrottlingException")(request))
    with pytest.raises(UnavailableError, match="ThrottlingException"):
        provider.wrap(KEY, place())
    assert len(made) == 3
    assert len(waits) == 2
    assert max(waits) <= 0.4


def test_no_error_holds_a_key_in_message_chain_or_frame(aws: Aws) -> None:
    provider = aws.provider(aws.create_key())
    wrapped = provider.wrap(KEY, place())
    operations: list[Callable[[], object]] = [
        lambda: provider.wrap(KEY, place()),
        lambda: provider.unwrap([(wrapped, place()), (wrapped, place(2))]),
    ]
    with pytest.raises(KmsError) as raised:
        operations[1]()
    shown = frames_of(raised.value)
    for operation in operations:
        with failing(provider, "AccessDeniedException"), pytest.raises(AccessDeniedError) as raised_too:
            operation()
        shown += frames_of(raised_too.value)
        assert raised_too.value.__context__ is None
    for secret in (b64(KEY.raw), KEY.raw.hex(), repr(KEY.raw), "hunter2"):
        assert secret not in shown
    assert "hunter2" not in repr(provider)


def test_threads_share_one_client(aws: Aws) -> None:
    provider = aws.provider(aws.create_key())
    wrapped = aws.provider(provider.uri).wrap(KEY, place())
    opened: list[Sequence[SecretKey]] = []
    threads = [threading.Thread(target=lambda: opened.append(provider.unwrap([(wrapped, place())]))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [[KEY]] * 16


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_connection_of_its_own(aws: Aws) -> None:
    provider = aws.provider(aws.create_key())
    wrapped = provider.wrap(KEY, place())
    client = provider._client
    assert client is not None
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = provider._client is None and provider.unwrap([(wrapped, place())]) == [KEY]
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert provider._client is client


def test_a_keyring_lives_on_it(aws: Aws, any_store: KeyStore) -> None:
    """Created, sealed with, opened by another process, rotated."""
    arn = aws.create_key()
    keyring = Keyring.create(any_store, aws.provider(arn), "main")
    old = keyring.sealing(DATA).key
    keyring.lifecycle.rotate(DATA)
    other = Keyring.open(any_store, aws.provider(arn), "main")
    assert other.sealing(DATA).key == keyring.sealing(DATA).key != old
    assert other.opening(DATA, old.key_id) == old
    assert {record.wrapped.kek for record in other.records() if record.wrapped} == {f"awskms://{arn}"}


def test_wrapped_bytes_swapped_by_sql_do_not_open(aws: Aws, any_store: KeyStore) -> None:
    provider = aws.provider(aws.create_key())
    Keyring.create(any_store, provider, "main").lifecycle.rotate(DATA)
    one, two = any_store.load("main").of(DATA)
    assert one.wrapped is not None
    assert two.wrapped is not None
    with writing(any_store.engine) as connection:
        for record, other in ((one, two.wrapped), (two, one.wrapped)):
            row = key_table.c.key_id == record.key_id
            connection.execute(key_table.update().where(row).values(wrapped=other.ciphertext))
    fresh = Keyring.open(any_store, provider, "main")
    for record in (one, two):
        with pytest.raises(CannotUnwrapError):
            fresh.opening(DATA, record.key_id)
    assert len(fresh.warm()) == 2  # index and ledger


def test_after_the_first_unwrap_sealing_calls_nobody(aws: Aws, store: KeyStore) -> None:
    arn = aws.create_key()
    Keyring.create(store, aws.provider(arn), "main")
    provider = aws.provider(arn)
    service = Keyring.open(store, provider, "main")
    sent = sent_by(provider)
    key = service.sealing(DATA).key
    for _ in range(10_000):
        assert service.sealing(DATA).key is key
        assert service.opening(DATA, key.key_id) is key
    assert [operation for operation, _ in sent] == ["Decrypt"]


def test_warming_takes_one_call_a_key(aws: Aws, store: KeyStore) -> None:
    arn = aws.create_key()
    Keyring.create(store, aws.provider(arn), "main").lifecycle.rotate(DATA)
    provider = aws.provider(arn)
    fresh = Keyring.open(store, provider, "main")
    sent = sent_by(provider)
    assert len(fresh.warm()) == 4
    for record in fresh.records():
        fresh.opening(record.purpose, record.key_id)
    assert [operation for operation, _ in sent] == ["Decrypt"] * 4


def test_injected_outage_is_lived_through_to_the_hard_lease_and_no_longer(
    aws: Aws, store: KeyStore, clock: ManualClock
) -> None:
    provider = aws.provider(aws.create_key())
    keyring = Keyring.create(store, provider, "main", clock=clock, refresh=False)
    key = keyring.sealing(DATA).key
    with failing(provider, "KMSInternalException", 500):
        clock.advance(3599)
        assert keyring.opening(DATA, key.key_id) == key
        assert keyring.sealing(DATA).key == key
        clock.advance(1)
        with pytest.raises(UnavailableError, match="KMSInternalException"):
            keyring.opening(DATA, key.key_id)
        with pytest.raises(UnavailableError):
            keyring.sealing(DATA)
    assert keyring.sealing(DATA).key == key


@pytest.mark.parametrize(
    ("code", "error"), [("DisabledException", KeyDisabledError), ("AccessDeniedException", AccessDeniedError)]
)
def test_injected_refusal_ends_the_key_after_the_soft_lease(
    aws: Aws, store: KeyStore, clock: ManualClock, code: str, error: type[KmsError]
) -> None:
    provider = aws.provider(aws.create_key())
    keyring = Keyring.create(store, provider, "main", clock=clock, refresh=False)
    key = keyring.sealing(DATA).key
    with failing(provider, code):
        clock.advance(299)
        assert keyring.opening(DATA, key.key_id) == key
        clock.advance(1)
        with pytest.raises(error, match="arn:aws:kms:"):
            keyring.opening(DATA, key.key_id)
    clock.advance(5)  # a refusal is remembered for so long
    with failing(provider, "KMSInternalException"), pytest.raises(UnavailableError):
        keyring.opening(DATA, key.key_id)  # it is gone, an outage does not bring it back


def test_a_keyring_follows_an_alias_to_another_key(aws: Aws, store: KeyStore) -> None:
    old, new = aws.create_key(), aws.create_key()
    alias = f"alias/app-{old[-12:]}"
    aws.admin.create_alias(AliasName=alias, TargetKeyId=old)
    keyring = Keyring.create(store, aws.provider(f"awskms://{alias}?region={REGION}"), "main")
    key = keyring.sealing(DATA).key
    aws.admin.update_alias(AliasName=alias, TargetKeyId=new)
    assert len(keyring.lifecycle.rewrap()) == 3
    assert {r.wrapped.kek for r in keyring.records() if r.wrapped is not None} == {f"awskms://{new}"}
    fresh = Keyring.open(store, aws.provider(new), "main")
    assert fresh.lifecycle.check() == []
    assert fresh.sealing(DATA).key == key
    aws.admin.delete_alias(AliasName=alias)


def test_it_opens_the_keys_of_its_region_and_account(aws: Aws) -> None:
    arn = aws.create_key()
    here, elsewhere = f"awskms://{arn}", f"awskms://{arn.replace('eu-central-1', 'eu-west-1')}"
    foreign = f"awskms://{arn.replace('123456789012', '210987654321')}"
    by_arn, by_alias = aws.provider(arn), aws.provider("awskms://alias/app?region=eu-central-1")
    assert [by_arn.opens(kek) for kek in (here, elsewhere, foreign)] == [Opens.SURELY, Opens.NO, Opens.NO]
    assert [by_alias.opens(kek) for kek in (here, elsewhere, foreign)] == [Opens.PERHAPS, Opens.NO, Opens.PERHAPS]
    assert by_arn.opens("local:8963") is by_alias.opens("awskms://alias/app") is Opens.NO
