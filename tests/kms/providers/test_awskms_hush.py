"""Nothing that carries a key reaches a log, at any level; what others log does."""

import base64
import logging
import os

import pytest

from kms.errors import CannotUnwrapError
from kms.providers.awskms_hush import hushed
from kms.secret import SecretKey
from tests.kms.providers.aws import Aws, place


def test_k14_debug_logs_show_no_key(aws: Aws, caplog: pytest.LogCaptureFixture) -> None:
    """botocore logs the bodies of requests and answers at DEBUG, and Decrypt's answer is a key."""
    caplog.set_level(logging.DEBUG)
    provider = aws.provider(aws.create_key())
    key = SecretKey(os.urandom(32))
    wrapped = provider.wrap(key, place())
    assert provider.unwrap([(wrapped, place()), (wrapped, place())]) == [key, key]
    provider.rewrap([(wrapped, place())])
    with pytest.raises(CannotUnwrapError):
        provider.unwrap([(wrapped, place()), (wrapped, place(2))])
    assert "botocore" in caplog.text  # it does log
    for shown in (key.raw.hex(), repr(key.raw), base64.b64encode(key.raw).decode(), "hunter2"):
        assert shown not in caplog.text


def test_other_callers_of_botocore_keep_their_logs(aws: Aws, caplog: pytest.LogCaptureFixture) -> None:
    with hushed():
        pass
    caplog.set_level(logging.DEBUG)
    aws.create_key(Description="shown in the log")
    assert "shown in the log" in caplog.text


def test_silence_ends_with_an_error_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def fail() -> None:
        with hushed(), hushed():
            logging.getLogger("botocore.parsers").debug("silent")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    logging.getLogger("botocore.parsers").debug("heard")
    assert [record.message for record in caplog.records] == ["heard"]
