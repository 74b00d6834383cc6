"""PKCS#11 address: which module, token and key a pkcs11 URI names, and where its PIN lies (RFC 7512)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from kms.errors import MisconfiguredError

__all__ = ["Pkcs11Address", "kek_identity", "may_be_one_key"]

EXAMPLE: Final = "pkcs11:token=NAME;object=KEY?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/etc/pin"
# Ours: what of RFC 7512, section 2.3, can be served. A slot's number changes when a token is plugged in elsewhere.
PATH_ATTRIBUTES: Final = frozenset({"token", "serial", "manufacturer", "model", "object", "id", "type"})
QUERY_ATTRIBUTES: Final = frozenset({"module-path", "pin-source"})
REMEDIES: Final = {
    "pin-value": "a PIN does not belong in a URI, which is stored and logged: put it into a file of mode 0600 and"
    " write pin-source=file:/PATH, or give it in the settings",
    "module-name": "name the module by its whole path: module-path=/PATH",
    "slot-id": "a slot's number can change: name the token by token= or serial=",
    "slot-description": "a slot can hold another token tomorrow: name the token by token= or serial=",
    "slot-manufacturer": "a slot can hold another token tomorrow: name the token by token= or serial=",
}
_ENCODED: Final = re.compile(rb"(?:[A-Za-z0-9._~:\[\]@!$'()*+,=&/-]|%[0-9A-Fa-f]{2})*")


@dataclass(frozen=True, slots=True)
class Pkcs11Address:
    """module: the vendor's library. None: not said by the URI. object: the key's label. pin_file: holds the PIN."""

    module: Path
    token: str | None
    serial: str | None
    manufacturer: str | None
    model: str | None
    object: str | None
    id: bytes | None
    pin_file: Path | None

    @classmethod
    def parse(cls, uri: str) -> "Pkcs11Address":
        """Read pkcs11:token=...;object=...;id=...?module-path=...&pin-source=file:...

        Raises: MisconfiguredError, which shows what to write and nothing of the URI's values.
        """
        scheme, _, rest = uri.strip().partition(":")
        if scheme.lower() != "pkcs11":
            raise MisconfiguredError(f"a key on a PKCS#11 token is named like {EXAMPLE}")
        path, _, query = rest.partition("?")
        said = _attributes(path, ";", PATH_ATTRIBUTES)
        where = _attributes(query, "&", QUERY_ATTRIBUTES)
        if said.pop("type", b"secret-key") != b"secret-key":
            raise MisconfiguredError("a key-encryption key is an AES key: write type=secret-key, or leave type out")
        texts = {name: _text(name, value) for name, value in said.items() if name != "id"}
        if not texts.keys() & {"token", "serial"}:
            raise MisconfiguredError(f"the URI names no token: write token= or serial=, as in {EXAMPLE}")
        if not said.keys() & {"object", "id"}:
            raise MisconfiguredError(f"the URI names no key: write object= (its label) or id=, as in {EXAMPLE}")
        return cls(
            module=_absolute("module-path", where.get("module-path")),
            token=texts.get("token"),
            serial=texts.get("serial"),
            manufacturer=texts.get("manufacturer"),
            model=texts.get("model"),
            object=texts.get("object"),
            id=said.get("id"),
            pin_file=_pin_file(where.get("pin-source")),
        )

    def __str__(self) -> str:
        """As it was asked for, without module and PIN file."""
        texts = [(name, getattr(self, name)) for name in ("token", "serial", "manufacturer", "model")]
        token = [f"{name}={_quoted(text)}" for name, text in texts if text is not None]
        return f"pkcs11:{';'.join(token + _key(self.id, self.object))}"


def kek_identity(serial: str, key_id: bytes, label: str) -> str:
    """The exact key: serial number of its token, id and label, whichever of the two it has."""
    return f"pkcs11:{';'.join([f'serial={_quoted(serial)}', *_key(key_id or None, label or None)])}"


def may_be_one_key(identity: str, other: str) -> bool:
    """Whether two stored identities can be of one key, whose id or label, but not both, was changed meanwhile."""
    one, two = (dict(part.partition("=")[::2] for part in i.partition(":")[2].split(";")) for i in (identity, other))
    same = [name for name in ("id", "object") if name in one and one.get(name) == two.get(name)]
    return one.get("serial") == two.get("serial") and bool(same)


def _key(key_id: bytes | None, label: str | None) -> list[str]:
    identity = [] if key_id is None else [f"id={''.join(f'%{byte:02X}' for byte in key_id)}"]
    return identity if label is None else [*identity, f"object={_quoted(label)}"]


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _attributes(part: str, separator: str, known: frozenset[str]) -> dict[str, bytes]:
    """Name and decoded value of each attribute; each at most once, none that would be passed over in silence."""
    found: dict[str, bytes] = {}
    for attribute in part.split(separator) if part else []:
        name, equals, value = attribute.partition("=")
        if name in REMEDIES:
            raise MisconfiguredError(f"{name} is not taken: {REMEDIES[name]}")
        if name not in known or not equals:
            raise MisconfiguredError(
                f"an attribute is not one of {', '.join(sorted(known))}, or on the wrong side of '?': write {EXAMPLE}"
            )
        if name in found:
            raise MisconfiguredError(f"{name} is said twice")
        if not value or not value.isascii() or not _ENCODED.fullmatch(value.encode()):
            raise MisconfiguredError(f"the value of {name} is empty or not percent-encoded as RFC 7512 wants it")
        found[name] = unquote_to_bytes(value)
    return found


def _text(name: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MisconfiguredError(f"the value of {name} is not UTF-8") from None


def _absolute(name: str, value: bytes | None) -> Path:
    path = Path(_text(name, value or b""))
    if not path.is_absolute() or "\0" in str(path):
        raise MisconfiguredError(f"{name} is an absolute path, such as {name}=/usr/lib/softhsm/libsofthsm2.so")
    return path


def _pin_file(value: bytes | None) -> Path | None:
    if value is None:
        return None
    scheme, _, path = _text("pin-source", value).partition(":")
    path = path.removeprefix("//") if path.startswith("///") else path
    if scheme != "file" or not Path(path).is_absolute() or "\0" in path:
        raise MisconfiguredError("the PIN comes from a file: write pin-source=file:/PATH; no program is run for it")
    return Path(path)
