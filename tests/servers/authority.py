"""An authority of our own: signs certificates for a server on this machine and for its clients."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PEM = serialization.Encoding.PEM
USAGES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
USAGES += ("key_cert_sign", "crl_sign", "encipher_only", "decipher_only")


@dataclass(frozen=True)
class Issued:
    """PEM files."""

    cert: Path
    key: Path


class Authority:
    """Its certificate is in the file `ca`; all are good for a day and as strict as Python 3.13 wants them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
            .add_extension(self._identifier, critical=False)
        )
        self.ca = folder / f"{name}.pem"
        self.ca.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(PEM))

    def server(self) -> Issued:
        """For localhost and 127.0.0.1."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return self._issue("server", (x509.ExtendedKeyUsageOID.SERVER_AUTH,), x509.SubjectAlternativeName(names))

    def client(self, name: str = "client", *, ended: bool = False) -> Issued:
        names = x509.SubjectAlternativeName([x509.DNSName(f"{name}.example.org")])
        return self._issue(name, (x509.ExtendedKeyUsageOID.CLIENT_AUTH,), names, ended=ended)

    def peer(self) -> Issued:
        """For one that serves some and asks others, on this machine."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        usages = (x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._issue("peer", usages, x509.SubjectAlternativeName(names))

    def _issue(
        self,
        name: str,
        purposes: tuple[x509.ObjectIdentifier, ...],
        names: x509.SubjectAlternativeName,
        *,
        ended: bool = False,
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = (
            self._builder(subject, key, ended=ended)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage("digital_signature"), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(names, critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier), False)
        )
        issued = Issued(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        issued.cert.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(PEM))
        write_key(issued.key, key)
        return issued

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ended: bool = False
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        end = now - dt.timedelta(minutes=1) if ended else now + dt.timedelta(days=1)
        return x509.CertificateBuilder(
            self._name, subject, key.public_key(), x509.random_serial_number(), now - dt.timedelta(hours=1), end
        )


def write_key(path: Path, key: ec.EllipticCurvePrivateKey, passphrase: bytes | None = None) -> None:
    encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    path.touch(0o600)
    path.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, encryption))


def _usage(*named: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{usage: usage in named for usage in USAGES})
