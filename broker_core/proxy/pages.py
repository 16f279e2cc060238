"""The pages of the proxy itself over HTTP: metrics, readiness, and its connections. Names and texts are Pulsar's."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from aiohttp import web

from broker_core.proxy.gateway import Gateway
from broker_core.proxy.lookups import METRIC_NAMES

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATS = "/proxy-stats"
NO_TOPICS = "Proxy doesn't have logging level 2"
ONLY_LEVEL_0 = "the log level of this proxy is 0: it passes messages on unread"


def refused(status: int, reason: str) -> web.Response:
    return web.json_response({"reason": reason}, status=status)


def stats(gateway: Gateway, method: str, path: str) -> web.Response:
    """The pages below /proxy-stats."""
    if path.startswith(f"{STATS}/logging/"):
        return web.Response(status=204) if path == f"{STATS}/logging/0" else refused(412, ONLY_LEVEL_0)
    match method, path.removeprefix(STATS):
        case "GET", "/connections":
            return connections(gateway)
        case "GET", "/topics":
            return refused(412, NO_TOPICS)
        case "GET", "/logging":
            return web.Response(text="0")
    return refused(404, f"this proxy has no resource at {path[:200]}")


def status(gateway: Gateway) -> web.Response:
    """The status for load balancers. As in Pulsar, a file can take the proxy out; a stop takes it out, too."""
    file = gateway.config.server.status_file
    if file and not os.path.exists(file):
        return web.Response(status=404, text=f"{file} does not exist")
    if gateway.is_leaving:
        return web.Response(status=503, text="the proxy is stopping")
    return web.Response(text="OK")


def connections(gateway: Gateway) -> web.Response:
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
    return web.json_response(rows)


def metrics(gateway: Gateway) -> web.Response:
    lines = []
    cluster = json.dumps(gateway.config.server.cluster_name, ensure_ascii=False)
    for name, kind, value in _figures(gateway):
        lines += [f"# TYPE {name} {kind}", f"{name}{{cluster={cluster}}} {value}"]
    return web.Response(body=("\n".join(lines) + "\n").encode(), headers={"Content-Type": METRICS_TYPE})


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
