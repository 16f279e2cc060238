"""The listeners' certificates of a broker that is its own authority (`tlsLocalAuthority`)."""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import TYPE_CHECKING

from broker_core.errors import InvalidConfiguration
from broker_core.security.certificates import Certificates
from broker_core.security.local_authority import AUTHORITY, LocalAuthority
from broker_core.server.ports import LOOPBACK

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.clock import Clock
    from broker_core.config.broker import BrokerConfig
    from broker_core.config.server import ServerConfig
    from broker_core.config.tls import TlsConfig

FOLDER = "tls"  # in the data directory


def authority_file(directory: Path) -> Path:
    return directory / FOLDER / AUTHORITY


def check_local_authority(tls: TlsConfig) -> None:
    """Raises `InvalidConfiguration`."""
    for key, value in (("tlsCertificateFilePath", tls.certificate_file), ("tlsKeyFilePath", tls.key_file)):
        if value:
            raise InvalidConfiguration(f"cannot use both {key} and tlsLocalAuthority (--tls auto): remove one of them")


def local_certificates(config: BrokerConfig, directory: Path, clock: Clock) -> Certificates:
    """Make missing certificates, and renew them before they expire. Raises `InvalidConfiguration`, `OSError`.

    Client certificates must come from the same authority, unless `tlsTrustCertsFilePath` names others.
    """
    authority = LocalAuthority(directory / FOLDER, clock, _hosts(config.server))
    authority.renew()
    own = dataclasses.replace(
        config.tls,
        certificate_file=str(authority.server_file),
        key_file=str(authority.server_file.with_suffix(".key")),
        trust_file=config.tls.trust_file or str(authority.authority_file),
    )
    return Certificates(own, authority.renew)


def _hosts(server: ServerConfig) -> list[str]:
    """The names that clients on this machine use, and the address that the broker advertises."""
    hosts = ["localhost", *LOOPBACK, server.advertised_address, server.bind_address]
    return [host for host in hosts if not _is_wildcard(host)]


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
