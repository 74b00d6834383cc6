"""A module is one a path in a process, with one session a token, and starts anew when told."""

from pathlib import Path

import pytest
from pkcs11.exceptions import MultipleTokensReturned, NoSuchToken, PinIncorrect

from kms.errors import AccessDeniedError, MisconfiguredError
from kms.providers.pkcs11_address import Pkcs11Address
from kms.providers.pkcs11_module import Module, loaded_module, serial_text
from kms.secret import SecretText
from tests.servers.softhsm import PIN, Token


def pin() -> SecretText:
    return SecretText(PIN)


@pytest.fixture
def module(token: Token) -> Module:
    module = loaded_module(token.module)
    with module.lock:
        module._ready()
        module.start_anew()
    return module


def address(token: Token, key: str = "object=kek") -> Pkcs11Address:
    return Pkcs11Address.parse(token.uri(key))


def test_a_path_is_one_module_however_it_is_spelled(token: Token, tmp_path: Path) -> None:
    link = tmp_path / "module.so"
    link.symlink_to(token.module)
    assert loaded_module(link) is loaded_module(token.module)


def test_a_token_has_one_session_until_the_module_starts_anew(module: Module, token: Token) -> None:
    with module.lock:
        first, epoch = module.session(address(token), pin), module.epoch
        assert module.session(address(token, f"serial={token.serial};object=kek"), pin) is first
        module.start_anew()
        assert module.epoch > epoch
        again = module.session(address(token), pin)
        assert again is not first
        assert serial_text(again.token) == token.serial


def test_a_token_is_found_by_all_that_the_uri_says(module: Module, token: Token, other_token: Token) -> None:
    with module.lock:
        module.start_anew()
        for said in ("model=SoftHSM%20v2", "manufacturer=SoftHSM%20project", f"serial={token.serial}"):
            assert module.session(address(token, f"{said};object=kek"), pin).token.label == token.label
        for said in ("model=other", "manufacturer=other", f"serial={other_token.serial}"):
            with pytest.raises(NoSuchToken):
                module.session(address(token, f"{said};object=kek"), pin)


def test_two_tokens_of_one_name_are_not_guessed_at(module: Module, token: Token) -> None:
    double = Pkcs11Address.parse(token.uri())
    library = module._library
    with module.lock, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_library", type("Twice", (), {"get_tokens": lambda _: [*library.get_tokens()] * 2})())
        with pytest.raises(MultipleTokensReturned):
            module.session(double, pin)


def test_a_refused_pin_is_remembered_until_another_is_accepted(module: Module, token: Token) -> None:
    wrong = SecretText("9999")
    with module.lock:
        with pytest.raises(PinIncorrect):
            module.session(address(token), lambda: wrong)
        with pytest.raises(AccessDeniedError, match="not tried again"):
            module.session(address(token), lambda: wrong)
        module.session(address(token), pin)


def test_a_login_by_other_code_of_this_process_is_shared(module: Module, token: Token) -> None:
    theirs = module._library.get_token(token_label=token.label).open(user_pin=PIN)
    with module.lock:
        session = module.session(address(token), pin)
        assert len(list(session.get_objects())) == 1
    theirs.close()


def test_what_is_no_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "module.so").write_bytes(b"\x7fELF")
    asked = Pkcs11Address.parse(f"pkcs11:token=t;object=k?module-path={tmp_path / 'module.so'}")
    with pytest.raises(MisconfiguredError, match="check module-path"):
        Module(asked.module).session(asked, pin)
