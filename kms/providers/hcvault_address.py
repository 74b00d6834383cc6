"""Transit address: which server, mount and key a hcvault URI names, in one canonical spelling."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from kms.errors import MisconfiguredError

__all__ = ["TransitAddress", "same_path"]

EXAMPLE: Final = "hcvault://vault.example.org:8200/transit/keys/NAME"
DEFAULT_PORT: Final = 8200
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # neither "." nor ".." nor anything to be escaped
_NAMESPACE: Final = re.compile(r"[!-~]+")  # it is sent as a header
_NUMBER: Final = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")  # what resolvers may read as an address, each its own way
_HOST_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class TransitAddress:
    """url: what the client speaks to, without a path. kek: the key's identity, as stored with what it wraps."""

    url: str
    mount: str
    key: str
    kek: str

    @classmethod
    def parse(cls, uri: str, *, plain_http_to_loopback: bool = False, namespace: str | None = None) -> "TransitAddress":
        """Read hcvault://HOST[:PORT]/MOUNT.../keys/NAME. No host is ever assumed.

        plain_http_to_loopback: speak http, which is refused for any host but this machine.
        Raises: MisconfiguredError, which shows what to write.
        """
        parts = _split(uri)
        host, port = _host(parts), _port(parts)
        if plain_http_to_loopback and not _is_loopback(host):
            raise MisconfiguredError(f"plain http is for a server on this machine only, not for {host}: use https")
        mount, key = _path(parts.path)
        place = "/".join([*_namespace(namespace), mount])
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        scheme = "http" if plain_http_to_loopback else "https"
        return cls(f"{scheme}://{authority}", mount, key, f"hcvault://{authority}/{place}/keys/{key}")


def same_path(kek: str, other: str) -> bool:
    """Whether two stored identities differ in the server's name at most, by which one server may go twice."""
    (scheme, _, rest), (other_scheme, _, other_rest) = kek.partition("://"), other.partition("://")
    return scheme == other_scheme == "hcvault" and rest.partition("/")[2] == other_rest.partition("/")[2]


def _split(uri: str) -> SplitResult:
    scheme, colon, rest = uri.strip().partition(":")
    if not colon or scheme.lower() != "hcvault":
        raise MisconfiguredError(f"a Vault or OpenBao key is named like {EXAMPLE}")
    try:
        parts = urlsplit("//" + rest.removeprefix("//"))
    except ValueError:
        raise MisconfiguredError(f"the address cannot be read: write {EXAMPLE}") from None
    if parts.username is not None or parts.password is not None:
        raise MisconfiguredError("no login goes into the address: give the token in the settings")
    if "]" in parts.netloc and not re.fullmatch(r"\[[^\]]*\](:.*)?", parts.netloc):
        raise MisconfiguredError(f"the address cannot be read: write {EXAMPLE}")
    if parts.query or parts.fragment:
        raise MisconfiguredError(f"nothing follows the key's name: write {EXAMPLE}")
    return parts


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise MisconfiguredError(f"the address of the server is missing, and none is assumed: write {EXAMPLE}")
    if host in {"http", "https"}:
        raise MisconfiguredError(f"the server is named without http:// or https://: write {EXAMPLE}")
    if _is_address(host):
        return str(ip_address(host))  # IPv6 has many spellings
    if not _HOST_NAME.fullmatch(host) or _NUMBER.fullmatch(host):
        raise MisconfiguredError(f"the server's name is not a host name: write {EXAMPLE}")
    return host


def _namespace(namespace: str | None) -> list[str]:
    """Its segments; none for the root namespace."""
    if namespace and not _NAMESPACE.fullmatch(namespace):
        raise MisconfiguredError("the namespace is not one line of plain text: is there a blank or a line break in it?")
    return [segment for segment in (namespace or "").split("/") if segment]


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise MisconfiguredError(f"the port is not a number from 1 to 65535: write {EXAMPLE}")
    return DEFAULT_PORT if port is None else port


def _path(path: str) -> tuple[str, str]:
    *mount, keys, name = [""] * 3 + [segment for segment in path.split("/") if segment]
    mount = [segment for segment in mount if segment]
    if not mount or keys != "keys" or not all(map(_SEGMENT.fullmatch, [*mount, name])):
        raise MisconfiguredError(f"the path is MOUNT/keys/NAME, of letters, digits, '_', '-' and '.': write {EXAMPLE}")
    return "/".join(mount), name


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return ip_address(host).is_loopback if _is_address(host) else host == "localhost"
