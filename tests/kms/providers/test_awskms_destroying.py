"""A key of AWS KMS is scheduled for deletion once, for the days that were asked, and never by an alias."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kms.errors import AccessDeniedError, CannotUnwrapError, MisconfiguredError, UnavailableError
from kms.providers.awskms_destroying import deletion_date, why_not_deleted
from tests.kms.providers.aws import Aws, failing, sent_by

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def state(aws: Aws, arn: str) -> Any:
    return aws.admin.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"]


def test_it_is_scheduled_once_and_keeps_its_date(aws: Aws) -> None:
    arn = aws.create_key()
    provider = aws.provider(arn)
    sent = sent_by(provider)
    provider.require_destroyable(f"awskms://{arn}")
    end = provider.destroy_kek(f"awskms://{arn}", waiting_days=7, now=NOW)
    assert end.final
    assert timedelta(days=6) < end.effective - datetime.now(UTC) < timedelta(days=8)
    provider.require_destroyable(f"awskms://{arn}")
    assert provider.destroy_kek(f"awskms://{arn}", waiting_days=30, now=NOW) == end
    key_id = arn.rpartition("/")[2]
    assert [members for name, members in sent if name == "ScheduleKeyDeletion"] == [
        {"KeyId": key_id, "PendingWindowInDays": 7}
    ]
    assert state(aws, arn) == "PendingDeletion"


def test_the_key_that_the_row_names_and_not_what_the_alias_names_by_now(aws: Aws) -> None:
    old, new = aws.create_key(), aws.create_key()
    alias = f"alias/{old.rpartition('/')[2]}"
    aws.admin.create_alias(AliasName=alias, TargetKeyId=new)
    aws.provider(f"awskms://{alias}?region=eu-central-1").destroy_kek(f"awskms://{old}", waiting_days=30, now=NOW)
    assert (state(aws, old), state(aws, new)) == ("PendingDeletion", "Enabled")


def test_one_that_is_gone_was_destroyed(aws: Aws) -> None:
    gone = aws.create_key().rpartition("/")[0] + "/00000000-0000-0000-0000-000000000000"
    provider = aws.provider(gone)
    provider.require_destroyable(f"awskms://{gone}")
    assert provider.destroy_kek(f"awskms://{gone}", waiting_days=30, now=NOW).effective == NOW


def test_what_is_refused_stays(aws: Aws) -> None:
    arn = aws.create_key()
    provider, kek = aws.provider(arn), f"awskms://{arn}"
    for days in (6, 31):
        with pytest.raises(MisconfiguredError, match="7 to 30 days"):
            provider.destroy_kek(kek, waiting_days=days, now=NOW)
    for other in ("local:8963", kek.replace("eu-central-1", "eu-west-1")):
        with pytest.raises(CannotUnwrapError):
            provider.destroy_kek(other, waiting_days=30, now=NOW)
    with failing(provider, "AccessDeniedException"), pytest.raises(AccessDeniedError):
        provider.require_destroyable(kek)
    assert state(aws, arn) == "Enabled"


def test_a_multi_region_key_and_one_of_another_account_are_left_to_their_admins() -> None:
    kek = "awskms://arn:aws:kms:eu-central-1:123456789012:key/mrk-" + "0" * 32
    metadata = {"Arn": kek.removeprefix("awskms://"), "MultiRegion": True}
    assert isinstance(why_not_deleted(kek, metadata), MisconfiguredError)
    assert why_not_deleted(kek, metadata | {"MultiRegion": False}) is None
    other = {"Arn": metadata["Arn"].replace("123456789012", "210987654321")}  # type: ignore[attr-defined]
    assert isinstance(why_not_deleted(kek, other), CannotUnwrapError)


def test_a_date_that_is_none_is_no_proper_answer() -> None:
    assert deletion_date("k", {"DeletionDate": NOW}) == NOW
    assert isinstance(deletion_date("k", {}), UnavailableError)
