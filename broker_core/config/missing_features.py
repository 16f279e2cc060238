"""Keys of a Pulsar configuration that turn on a feature which this broker does not have. Each is named at the start.

Other unknown keys are only counted (`reading`): most of them tune components that do not exist here.
"""

from collections.abc import Iterable, Iterator

from broker_core.config.reading import Entry

FEATURES = {
    "additionalServlets": "additional servlets",
    "authenticationRoleLoggingAnonymizer": "anonymous roles in its log",
    "authorizationProvider": "authorization providers other than its own",
    "brokerEntryPayloadProcessors": "payload processors",
    "brokerInterceptors": "broker interceptors",
    "enablePackagesManagement": "packages management",
    "enableShadowTopics": "shadow topics",
    "entryFilterNames": "entry filters",
    "functionsWorkerEnabled": "functions",
    "haProxyProtocolEnabled": "the PROXY protocol",
    "messagingProtocols": "protocol handlers",
    "tlsFactoryClassName": "TLS factories",
    "tlsEnabledWithKeyStore": "TLS key stores; use PEM files",
    "webSocketServiceEnabled": "the WebSocket service",
}
"""By key. One with `true`, or with a text that is not the default, asks for it."""

_NOT_ASKED = {"", "false", "none", "org.apache.pulsar.broker.authorization.PulsarAuthorizationProvider"}


def missing_features(in_file: Iterable[Entry]) -> Iterator[str]:
    """A warning for each key that asks for one of them."""
    for entry in in_file:
        text = "" if entry.value is None else str(entry.value).strip()
        if entry.key in FEATURES and text.lower() not in _NOT_ASKED and text not in _NOT_ASKED:
            yield f"{entry.key}={text} ({entry.source}) has no effect: this broker does not have {FEATURES[entry.key]}"
