"""The sources of the proxy's configuration: those of the broker's, and `PULSAR_PROXY_CONF` names the file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_core.config.proxy import ProxyConfig
from broker_core.config.reading import Gathered, gather, named_file
from broker_core.config.sources import is_loopback
from broker_core.errors import InvalidConfiguration

FILE_VARIABLE = "PULSAR_PROXY_CONF"


def load_proxy_config(
    file: Path | None = None,
    *,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Gathered[ProxyConfig]:
    """Returns the configuration from all sources; raises `InvalidConfiguration` naming key, value, and source.

    `options` are the `key=value` texts of `-X`; `flags` holds values of other flags by their Pulsar key.
    """
    file = file or named_file(environment, FILE_VARIABLE)
    gathered = gather(ProxyConfig(), file, environment=environment, options=options, flags=flags, process="this proxy")
    _require_brokers(gathered.config)
    _refuse_exposure(gathered)
    return gathered._replace(warnings=(*gathered.warnings, *_risks(gathered.config)))


def _require_brokers(config: ProxyConfig) -> None:
    brokers = config.brokers
    key, url = (
        ("brokerServiceURLTLS", brokers.service_url_tls) if brokers.tls else ("brokerServiceURL", brokers.service_url)
    )
    if url:
        return
    why = "; it finds no brokers in metadataStoreUrl" if brokers.metadata_store else ""
    raise InvalidConfiguration(f"the proxy needs the addresses of its brokers: set {key}{why}")


def _refuse_exposure(gathered: Gathered[ProxyConfig]) -> None:
    """A proxy must not open to the network what brokers on loopback keep to the machine."""
    address, config = gathered.config.server.bind_address, gathered.config
    checked = config.security.authentication or config.security.allow_unauthenticated or _passes_on(config)
    if address and not is_loopback(address) and not checked:
        raise InvalidConfiguration(
            f"bindAddress={address} ({gathered.by_key['bindAddress'].source}): anyone who can reach this address would"
            " act on the brokers as this proxy. Set authenticationEnabled=true (docs/how-to/proxy.md), or leave the"
            " check to the brokers with forwardAuthorizationCredentials=true, or accept the"
            " risk with --allow-unauthenticated"
        )


def _passes_on(config: ProxyConfig) -> bool:
    """Whether brokers judge the clients by their own credentials."""
    return config.brokers.forward_credentials and not config.brokers.plugin


def _risks(config: ProxyConfig) -> Iterator[str]:
    if config.brokers.plugin and not config.security.authentication:
        yield (
            "brokerClientAuthenticationPlugin without authenticationEnabled: every client acts with the proxy's own"
            " role on the brokers"
        )
