"""A real PKCS#11 token in software: SoftHSM, with a token directory of its own for each test process."""

import os
import secrets
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

MODULES = (
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/lib/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
    "/opt/homebrew/lib/softhsm/libsofthsm2.so",
)
INSTALL = "apt-get install softhsm2"
PIN = "pin-of-a-test-token"
# Another process makes and destroys keys, as an operator would. Arguments: module, token, what to run.
PROGRAM = """
import sys, pkcs11
from pkcs11 import Attribute as A, KeyType, ObjectClass
with pkcs11.lib(sys.argv[1]).get_token(token_label=sys.argv[2]).open(user_pin={pin!r}, rw=True) as session:
    exec(sys.argv[3])
"""
KEY = "session.generate_key(KeyType.AES, {bits}, label={label!r}, id={key_id!r}, store=True, template={template})"
TEMPLATE = "A.SENSITIVE: True, A.EXTRACTABLE: False, A.ENCRYPT: True, A.DECRYPT: True, A.WRAP: False, A.UNWRAP: False"


def making(label: str, key_id: bytes, bits: int, template: str) -> str:
    return KEY.format(label=label, key_id=key_id, bits=bits, template=f"{{{TEMPLATE}, {template}}}")


@dataclass(frozen=True)
class Token:
    """label: as initialised. pin_file: of mode 0600. folder: what the token is made of."""

    module: Path
    label: str
    serial: str
    pin_file: Path
    folder: Path

    def uri(self, key: str = "object=kek", **query: str) -> str:
        said = {"module-path": str(self.module), "pin-source": f"file:{self.pin_file}"} | query
        return f"pkcs11:token={self.label};{key}?{'&'.join(f'{n}={v}' for n, v in said.items() if v)}"

    def run(self, program: str) -> str:
        command = [sys.executable, "-c", PROGRAM.format(pin=PIN), str(self.module), self.label, program]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    def make_key(self, label: str = "kek", key_id: bytes = b"\x01", bits: int = 256, template: str = "") -> None:
        self.run(making(label, key_id, bits, template))

    def take_away(self) -> None:
        self.folder.rename(self.folder.parent.parent / self.folder.name)

    def bring_back(self) -> None:
        (self.folder.parent.parent / self.folder.name).rename(self.folder)


def softhsm_home(folder: Path) -> None:
    """Make an empty token directory that SoftHSM in this process and its children uses from now on."""
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(
        f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\nlog.level = ERROR\n"
    )
    os.environ["SOFTHSM2_CONF"] = str(configuration)


def new_token(softhsm2_util: str, home: Path) -> Token:
    """An initialised token with an AES key of label kek and id 01."""
    label, before = f"t-{secrets.token_hex(4)}", set((home / "tokens").iterdir())
    command = [softhsm2_util, "--init-token", "--free", "--label", label, "--pin", PIN, "--so-pin", "12345678"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    pin_file = home / f"{label}.pin"
    pin_file.touch(0o600)
    pin_file.write_text(f"{PIN}\n")
    (folder,) = set((home / "tokens").iterdir()) - before
    module = next(Path(path) for path in MODULES if Path(path).exists())
    token = Token(module, label, "", pin_file, folder)
    serial = token.run(f"{making('kek', bytes([1]), 256, '')}; print(session.token.serial.decode())").strip()
    return replace(token, serial=serial)
