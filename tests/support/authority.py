"""A certificate authority for tests."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = datetime.timedelta(days=1)


class Authority:
    """`folder` gets `ca.pem`, and for each issued certificate `NAME.pem` and `NAME.key`."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / f"{name}.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"authority {name}")])
        builder = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), True)
        self.file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
        )

    def issue(self, name: str, *common_names: str, host: str = "localhost", address: str = "") -> tuple[Path, Path]:
        """The files of a certificate and its key, valid for `host` and an IP address.

        The common name defaults to `name`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(x509.NameOID.COMMON_NAME, one) for one in common_names or (name,)]
        names: list[x509.GeneralName] = [x509.DNSName(host)]
        if host == "localhost":
            names += [x509.IPAddress(ipaddress.ip_address(one)) for one in ("127.0.0.1", "::1")]
        if address:
            names.append(x509.IPAddress(ipaddress.ip_address(address)))
        builder = self._builder(x509.Name(attributes), key).add_extension(x509.SubjectAlternativeName(names), False)
        certificate, file = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, file
