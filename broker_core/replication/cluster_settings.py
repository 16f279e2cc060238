"""How to reach another cluster: its record as REST stored it (Pulsar's ClusterData), read only by this module.

As in Pulsar, a record without its own credentials uses `brokerClientAuthenticationPlugin` and its parameters. A record
with `brokerClientTlsEnabled` is reached at its TLS URL. Key stores in Java's format are refused with a reason.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_core.broker_client.addresses import Endpoint, parse_service_url
from broker_core.broker_client.tls import client_context
from broker_core.errors import InvalidValue
from broker_core.replication.credentials import Credentials
from broker_core.replication.errors import CannotReplicate

if TYPE_CHECKING:
    from broker_core.config.security import SecurityConfig

PLAIN, TLS = "pulsar://", "pulsar+ssl://"
FindRecord = Callable[[str], Mapping[str, Any] | None]  # by the name of a cluster


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`addresses` of the brokers, to try in order. `http_url` of the admin API; "" if the record names none."""

    cluster: str
    addresses: tuple[Endpoint, ...]
    http_url: str
    is_tls: bool
    credentials: Credentials
    listener: str
    trust_file: str
    certificate_file: str
    key_file: str
    allow_insecure: bool

    @classmethod
    def of(cls, cluster: str, record: Mapping[str, Any] | None, config: SecurityConfig) -> ClusterSettings:
        """Raises `CannotReplicate` with what is missing in the record."""
        if record is None:
            raise CannotReplicate(f"cluster {cluster} is not registered; register it with `clusters create`")
        is_tls = bool(record.get("brokerClientTlsEnabled"))
        if record.get("brokerClientTlsEnabledWithKeyStore"):
            raise CannotReplicate(f"cluster {cluster}: key stores are not supported; set PEM files instead")
        if record.get("proxyServiceUrl") and record.get("proxyProtocol"):
            raise CannotReplicate(f"cluster {cluster}: proxyProtocol {record['proxyProtocol']} is not supported")
        field = "brokerServiceUrlTls" if is_tls else "brokerServiceUrl"
        url = str(record.get(field, ""))
        if not url:
            raise CannotReplicate(f"cluster {cluster} has no {field}; set it with `clusters update`")
        return cls(
            cluster,
            addresses_of(url),
            str(record.get("serviceUrlTls" if is_tls else "serviceUrl", "")),
            is_tls,
            _credentials(cluster, record, config),
            str(record.get("listenerName", "")),
            str(record.get("brokerClientTrustCertsFilePath", "")),
            str(record.get("brokerClientCertificateFilePath", "")),
            str(record.get("brokerClientKeyFilePath", "")),
            bool(record.get("tlsAllowInsecureConnection")),
        )

    def tls_context(self) -> ssl.SSLContext | None:
        """Reads the files, which may have been renewed. Raises `CannotReplicate` if one of them cannot be used."""
        if not self.is_tls:
            return None
        own = {(self.certificate_file, self.key_file), self.credentials.certificate}
        try:
            context = client_context(self.trust_file, [pair for pair in own if pair[0]])
        except (OSError, ValueError) as error:
            raise CannotReplicate(f"cluster {self.cluster}: cannot use its TLS files: {error}") from error
        if self.allow_insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def _credentials(cluster: str, record: Mapping[str, Any], config: SecurityConfig) -> Credentials:
    plugin, parameters = record.get("authenticationPlugin"), record.get("authenticationParameters")
    if not (plugin and parameters):
        plugin, parameters = config.internal_plugin, config.internal_parameters
    return Credentials.of(cluster, str(plugin or ""), str(parameters or ""))


def addresses_of(url: str) -> tuple[Endpoint, ...]:
    """The addresses in `pulsar://HOST:PORT,HOST:PORT`. Raises `CannotReplicate`."""
    scheme = next((known for known in (TLS, PLAIN) if url.startswith(known)), None)
    if scheme is None:
        raise CannotReplicate(f"'{url}' is not an address of the binary protocol")
    try:
        return parse_service_url(url, scheme.removesuffix("://"))
    except InvalidValue:
        raise CannotReplicate(f"'{url}' does not name a host and a port") from None
