"""A certificate authority of this broker alone, and the certificates that it signs: `pulsarctl standalone --tls auto`.

The files are in `tls/` of the data directory, for its owner only. `ca.pem` is what clients must trust, `server.pem` is
the broker's certificate, and `client.pem` is one for clients. Keys stay when certificates are replaced, so that a file
never disagrees with its key. Certificates are replaced long before they expire, and so is the authority.
"""

from __future__ import annotations

import ipaddress
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from broker_core.errors import InvalidConfiguration
from broker_core.security.private_files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from broker_core.clock import Clock

log = logging.getLogger(__name__)

AUTHORITY = "ca.pem"
AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 90
RENEWAL_DAYS = 30  # before a certificate expires; also the oldest that a client's clock may be behind
CLOCK_SKEW = timedelta(days=1)
CLIENT = "client"  # the common name of the client certificate, and so its role where client certificates are roles


class Signer(NamedTuple):
    certificate: x509.Certificate
    key: EllipticCurvePrivateKey


class LocalAuthority:
    """`hosts` are the names and addresses of the broker."""

    def __init__(self, folder: Path, clock: Clock, hosts: Iterable[str]) -> None:
        """Raises `InvalidConfiguration` if a library is missing."""
        try:
            import cryptography.x509  # noqa: F401  # what this needs later
        except ImportError:
            raise InvalidConfiguration("a local authority needs: pip install 'pulsarctl[security]'") from None
        self.authority_file = folder / AUTHORITY
        self.server_file = folder / "server.pem"
        self.client_file = folder / "client.pem"
        self._folder = folder
        self._clock = clock
        self._hosts = sorted({host for host in hosts if host})

    def renew(self) -> None:
        """Creates what is missing, and replaces what expires soon or names other hosts. Raises `OSError`."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        signer = self._signer()
        if not self._is_current(self.server_file, signer, self._hosts):
            self._issue(self.server_file, signer, "pulsarctl broker", self._hosts)
            log.info("created a certificate for %s", ", ".join(self._hosts))
        if not self._is_current(self.client_file, signer, []):
            self._issue(self.client_file, signer, CLIENT, [])

    @property
    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC)

    def _signer(self) -> Signer:
        """The authority, which is made if there is none. A new one must be trusted by clients, so it is rare."""
        from cryptography import x509

        key = _key_of(self.authority_file)
        if not self.authority_file.exists():
            return self._new_signer(key)
        try:
            certificate = x509.load_pem_x509_certificate(self.authority_file.read_bytes())
        except ValueError as error:
            raise _unusable(self.authority_file, str(error)) from None
        if key.public_key() != certificate.public_key():
            raise _unusable(self.authority_file, "its key is another one")
        if self._is_valid(certificate, CERTIFICATE_DAYS):
            return Signer(certificate, key)
        log.warning("the local authority in %s expires soon: clients must trust the new ca.pem", self._folder)
        return self._new_signer(key)

    def _new_signer(self, key: EllipticCurvePrivateKey) -> Signer:
        from cryptography import x509

        name = _name("pulsarctl local authority")
        builder = self._builder(name, name, key, AUTHORITY_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        certificate = builder.sign(key, _hash())
        write_private(self.authority_file, _pem(certificate), is_durable=True)
        return Signer(certificate, key)

    def _issue(self, file: Path, signer: Signer, common_name: str, hosts: list[str]) -> None:
        """Writes a certificate: for a server with these hosts, or for a client if there are none."""
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
        builder = self._builder(_name(common_name), signer.certificate.subject, _key_of(file), CERTIFICATE_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(digital_signature=True), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        builder = builder.add_extension(issuer, critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        write_private(file, _pem(builder.sign(signer.key, _hash())), is_durable=True)

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int
    ) -> x509.CertificateBuilder:
        from cryptography import x509

        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - CLOCK_SKEW)
            .not_valid_after(self._now + timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )

    def _is_valid(self, certificate: x509.Certificate, days: int) -> bool:
        """Whether it is valid for this time. One from a future, when the clock was wrong, is not."""
        now = self._now
        return certificate.not_valid_before_utc <= now and now + timedelta(days=days) < certificate.not_valid_after_utc

    def _is_current(self, file: Path, signer: Signer, hosts: list[str]) -> bool:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature

        try:
            certificate = x509.load_pem_x509_certificate(file.read_bytes())
            certificate.verify_directly_issued_by(signer.certificate)
        except (FileNotFoundError, ValueError, TypeError, InvalidSignature):
            return False
        is_ours = certificate.public_key() == _key_of(file).public_key()
        return is_ours and self._is_valid(certificate, RENEWAL_DAYS) and _hosts_of(certificate) == hosts


def _key_of(certificate_file: Path) -> EllipticCurvePrivateKey:
    """The key beside a certificate, which is made if there is none."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    file = certificate_file.with_suffix(".key")
    if not file.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(file, _pem(key), is_durable=True)
        return key
    try:
        stored = serialization.load_pem_private_key(file.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise _unusable(file, str(error)) from None
    if not isinstance(stored, ec.EllipticCurvePrivateKey):
        raise _unusable(file, "it is of another type")
    return stored


def _unusable(file: Path, reason: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"cannot use {file}: {reason}; delete {file.parent} for a new local authority")


def _hosts_of(certificate: x509.Certificate) -> list[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return sorted(str(name.value) for name in names)


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(common_name: str) -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _usage(**allowed: bool) -> x509.KeyUsage:
    from cryptography import x509

    names = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{name: allowed.get(name, False) for name in names})


def _hash() -> hashes.SHA256:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def _pem(item: EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    if not hasattr(item, "private_bytes"):
        return item.public_bytes(serialization.Encoding.PEM)
    no_password = serialization.NoEncryption()
    return item.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
