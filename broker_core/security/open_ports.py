"""Plain ports of a broker that requires client certificates: named at the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.config.broker import BrokerConfig


def without_certificates(config: BrokerConfig) -> Iterator[str]:
    """A line for each plain port of a broker whose TLS ports require client certificates."""
    if not config.tls.require_client_certificate:
        return
    for key, port in (("brokerServicePort", config.server.broker_port), ("webServicePort", config.server.web_port)):
        if port >= 0:
            yield f"{key} takes clients without a certificate; to require one, set {key} to an empty value"
