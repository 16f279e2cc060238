"""`pulsarctl broker-stats`: what one broker measures."""

from typing import Any

from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.grammar import Noun

app = Noun("broker-stats", "Show the metrics, the topics, and the load of a broker.")

INDENT = Field(
    "indent",
    "Accepted and ignored: JSON is always indented.",
    ("-i", "--indent"),
    "",
    In.NOWHERE,
    bool,
    False,
    hidden=True,
)


def _row(name: str, path: str, summary: str, *fields: Field, also: tuple[str, ...] = (), **more: Any) -> Request:
    example = " default" if fields and not fields[0].spellings else ""
    return Request(name, "GET", f"broker-stats/{path}", summary, example, fields, Shown.VALUE, also, **more)


install_requests(
    app,
    (
        _row("monitoring-metrics", "metrics", "Show the metrics of the broker.", INDENT),
        _row("mbeans", "mbeans", "Show the MBeans of the broker's JVM.", INDENT),
        _row(
            "topics", "topics", "Show the stats of the topics that the broker serves.", INDENT, also=("destinations",)
        ),
        _row(
            "allocator-stats",
            "allocator-stats/{allocator}",
            "Show the stats of a memory allocator of the broker.",
            Field("allocator", "Name of the allocator: default or ml-cache.", metavar="NAME"),
        ),
        _row("load-report", "load-report", "Show the load that the broker reports to the load balancer."),
    ),
)
