"""The pages of the proxy itself over HTTP: metrics, readiness, and its connections. Names and texts are Pulsar's."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, NamedTuple

from broker_core.proxy.gateway import Gateway
from broker_core.proxy.lookups import METRIC_NAMES

TEXT = "text/plain; version=0.0.4; charset=utf-8"
NO_TOPICS = "Proxy doesn't have logging level 2"
ONLY_LEVEL_0 = "the log level of this proxy is 0: it passes messages on unread"


class Page(NamedTuple):
    status: int
    body: str = ""
    content_type: str = "text/plain"


def status(gateway: Gateway) -> Page:
    """The status for load balancers. As in Pulsar, a file can take the proxy out; a stop takes it out, too."""
    file = gateway.config.server.status_file
    if file and not os.path.exists(file):
        return Page(404, f"{file} does not exist")
    return Page(503, "the proxy is stopping") if gateway.is_leaving else Page(200, "OK")


def connections(gateway: Gateway) -> Page:
    """Rates are those of the whole life of a connection."""
    now = asyncio.get_running_loop().time()
    rows = []
    for splice, (client, broker) in gateway.splices.items():
        seconds = max(now - splice.started, 1.0)
        rows.append(
            {
                "requestRate": sum(splice.progress) / seconds,
                "byteRate": splice.bytes / seconds,
                "clientAddress": client,
                "brokerAddress": broker,
            }
        )
    return Page(200, json.dumps(rows), "application/json")


def metrics(gateway: Gateway) -> Page:
    lines = []
    cluster = json.dumps(gateway.config.server.cluster_name, ensure_ascii=False)
    for name, kind, value in _figures(gateway):
        lines += [f"# TYPE {name} {kind}", f"{name}{{cluster={cluster}}} {value}"]
    return Page(200, "\n".join(lines) + "\n", TEXT)


def _figures(gateway: Gateway) -> list[tuple[str, str, Any]]:
    counts, live = gateway.counts, list(gateway.splices)
    figures: list[tuple[str, str, Any]] = [
        ("pulsar_proxy_active_connections", "gauge", gateway.connection_count.taken),
        ("pulsar_proxy_spliced_connections", "gauge", len(live)),
        ("pulsar_proxy_lookups_in_flight", "gauge", gateway.looking_up),
        ("pulsar_proxy_new_connections_total", "counter", counts.new),
        ("pulsar_proxy_rejected_connections_total", "counter", counts.rejected_connections),
        ("pulsar_proxy_binary_ops_total", "counter", counts.chunks + sum(sum(splice.progress) for splice in live)),
        ("pulsar_proxy_binary_bytes_total", "counter", counts.bytes + sum(splice.bytes for splice in live)),
    ]
    for name in METRIC_NAMES.values():
        figures.append((f"pulsar_proxy_{name}_requests_total", "counter", counts.requests[name]))
        figures.append((f"pulsar_proxy_rejected_{name}_requests_total", "counter", counts.rejected[name]))
    return figures
