"""The sources of the broker's configuration: defaults, then a file, then the environment, then the command line.

`reading` says what a file can be. `PULSAR_STANDALONE_CONF` names the file if no other is given.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from broker_core.config.bind_addresses import bind_addresses
from broker_core.config.broker import BrokerConfig
from broker_core.config.listeners import advertised_listeners
from broker_core.config.metric_labels import check_labels, labels_in
from broker_core.config.missing_features import missing_features
from broker_core.config.reading import Entry, gather, named_file
from broker_core.config.removed_keys import removed_keys
from broker_core.config.retention import check_retention
from broker_core.errors import BrokerError, InvalidConfiguration

FILE_VARIABLE = "PULSAR_STANDALONE_CONF"


class LoadedConfig(NamedTuple):
    """`warnings`: one line each, for the process that starts the broker to log once. `file`: None without a file."""

    config: BrokerConfig
    warnings: tuple[str, ...]
    file: Path | None


def load_config(
    file: Path | None = None,
    *,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> LoadedConfig:
    """Returns the configuration from all sources; raises `InvalidConfiguration` naming key, value, and source.

    `options` are the `key=value` texts of `-X`; `flags` holds values of other flags by their Pulsar key.
    """
    file = file or named_file(environment, FILE_VARIABLE)
    gathered = gather(
        BrokerConfig(), file, environment=environment, options=options, flags=flags, process="this broker"
    )
    _check_retention(gathered.config, gathered.by_key)
    _check_labels(gathered.config, gathered.by_key)
    _check_closing(gathered.config, gathered.by_key)
    _refuse_exposure(gathered.config, gathered.in_file, gathered.by_key)
    warnings = (
        *gathered.warnings,
        *missing_features(gathered.in_file),
        *removed_keys(gathered.in_file),
        *_risks(gathered.config, gathered.by_key),
    )
    return LoadedConfig(gathered.config, warnings, file)


def _refuse_exposure(config: BrokerConfig, in_file: Iterable[Entry], by_key: Mapping[str, Entry]) -> None:
    """Ignoring what the user asks for would leave the broker open."""
    for entry in in_file:
        if entry.key == "tlsEnabled" and str(entry.value).lower() == "true" and not config.tls.enabled:
            raise InvalidConfiguration(
                f"tlsEnabled=true ({entry.source}) has no effect without a port: set brokerServicePortTls and"
                " webServicePortTls, or set it to false"
            )
    if _is_exposed(config) and not config.security.authentication and not config.security.allow_unauthenticated:
        raise InvalidConfiguration(
            f"{_exposing(config, by_key)}: without authentication,"
            " anyone who can reach this address could read and change all data. Set authenticationEnabled=true"
            " (docs/how-to/security.md), or listen on a loopback address with --bind 127.0.0.1, or accept the risk with"
            " --allow-unauthenticated"
        )


def _is_exposed(config: BrokerConfig) -> bool:
    return _has_exposed_bind_address(config) or _has_exposed_more(config)


def _has_exposed_bind_address(config: BrokerConfig) -> bool:
    return bool(config.server.bind_address) and not is_loopback(config.server.bind_address)


def _has_exposed_more(config: BrokerConfig) -> bool:
    listeners = advertised_listeners(config.server.advertised_listeners, config.server.internal_listener)
    addresses = bind_addresses(config.server.bind_addresses, listeners.by_name)
    return any(not is_loopback(address.host) for address in addresses)


def _exposing(config: BrokerConfig, by_key: Mapping[str, Entry]) -> str:
    """The key that opens the broker to others, its value, and where it comes from."""
    key = "bindAddress" if _has_exposed_bind_address(config) else "bindAddresses"
    value = config.server.bind_address if key == "bindAddress" else config.server.bind_addresses
    return f"{key}={value} ({by_key[key].source})"


def _check_retention(config: BrokerConfig, by_key: Mapping[str, Entry]) -> None:
    try:
        check_retention(config.policies.retention_minutes, config.policies.retention_mb)
    except BrokerError as error:
        keys = ("defaultRetentionTimeInMinutes", "defaultRetentionSizeInMB")
        places = ", ".join(f"{key}: {by_key[key].source}" for key in keys if key in by_key)
        raise InvalidConfiguration(f"{error} ({places})") from error


def _check_labels(config: BrokerConfig, by_key: Mapping[str, Entry]) -> None:
    try:
        check_labels(labels_in(config.metrics.property_keys))
    except BrokerError as error:
        key = "allowedTopicPropertyKeysForMetrics"
        raise InvalidConfiguration(f"{key}: {error} ({by_key[key].source})") from error


def _check_closing(config: BrokerConfig, by_key: Mapping[str, Entry]) -> None:
    """With the mode of caught-up subscriptions, connected consumers would load a topic again at once."""
    inactive, source = config.inactive, by_key.get("brokerCloseInactiveTopicsEnabled")
    if source is None or not inactive.close:
        return
    if inactive.delete:
        raise InvalidConfiguration(
            "brokerCloseInactiveTopicsEnabled and brokerDeleteInactiveTopicsEnabled are mutually exclusive"
            f" ({source.source})"
        )
    if inactive.mode != "delete_when_no_subscriptions":
        raise InvalidConfiguration(
            "brokerCloseInactiveTopicsEnabled only supports brokerDeleteInactiveTopicsMode=delete_when_no_subscriptions"
            f" ({source.source})"
        )


def _risks(config: BrokerConfig, by_key: Mapping[str, Entry]) -> Iterable[str]:
    if not config.storage.journal_sync:
        source = by_key["journalSyncData"].source
        yield f"journalSyncData=false ({source}): a power failure can lose messages that the broker has confirmed"
    if _is_exposed(config) and not config.security.authentication:
        yield (
            f"{_exposing(config, by_key)}: there is no authentication: anyone who can reach this address can read"
            " and change all data"
        )


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
