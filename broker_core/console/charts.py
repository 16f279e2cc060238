"""Charts as the server sends them: an empty frame that `console.js` fills, with a summary and a table as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker_core.console.admin_api import TopicName
from broker_core.console.backlog import backlog_of, backlog_of_all, heading
from broker_core.console.markup import Html, address, tag
from broker_core.console.page import Page
from broker_core.console.paths import SAMPLE
from broker_core.console.quantities import count, number

WIDTH, HEIGHT = 600, 140
JSON_TYPE = "application/json"
LEVEL, RATE = "level", "rate"  # a value as it is, or the growth of a counter per second


def live(topic: TopicName, stats: Mapping[str, Any], subscription: str = "") -> Html:
    """The charts of a topic or a subscription. Without scripts, the numbers of the page stand alone."""
    source = address(SAMPLE, topic=topic, subscription=subscription)
    pause = tag("button", "Pause", type="button", class_="pause", aria_pressed="false", hidden=True)
    charts = (
        _chart("backlog", heading([stats]), LEVEL, {"backlog": "backlog"}),
        _chart("rates", "Messages per second", RATE, {"in": "published", "out": "delivered"}),
    )
    status = tag("p", "Charts need JavaScript.", class_="live-status")
    return tag("section", tag("h2", "Live"), status, pause, charts, class_="live", data_source=source)


def _chart(name: str, title: str, kind: str, series: Mapping[str, str]) -> Html:
    """`series`: the name of a value in a sample, and what it is called."""
    top, bottom = 10, HEIGHT - 10
    grid = [_line(y) for y in (top, (top + bottom) // 2, bottom)]
    lines = [tag("polyline", class_=f"line line-{index}", points="") for index in range(len(series))]
    label = tag("text", class_="most", x="4", y=str(top + 12))
    named = f"{name}-title {name}-said"
    drawing = tag("svg", grid, lines, label, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_labelledby=named)
    key = [tag("li", legend, class_=f"key key-{index}") for index, legend in enumerate(series.values())]
    caption = tag("figcaption", tag("h3", title, id=f"{name}-title"), tag("ul", key) if len(series) > 1 else None)
    status = tag("p", "No samples yet.", id=f"{name}-said", class_="said")
    table = tag("details", tag("summary", f"{title}: numbers"), tag("div", class_="numbers"))
    return tag(
        "figure", caption, drawing, status, table, class_="chart", data_kind=kind, data_series=json.dumps(series)
    )


def _line(y: int) -> Html:
    return tag("line", x1="0", x2=str(WIDTH), y1=str(y), y2=str(y), class_="grid")


def sample(topic: Mapping[str, Any], subscription: Mapping[str, Any] | None) -> Page:
    """The sample that `console.js` requests at intervals: values to draw, and texts of the page that change."""
    counters = subscription or topic
    backlog = backlog_of_all(topic) if subscription is None else backlog_of(subscription)
    values = {"backlog": backlog, "in": number(topic.get("msgInCounter")), "out": number(counters.get("msgOutCounter"))}
    shown = {"backlog": count(backlog), "unacked": count(counters.get("unackedMessages"))}
    return Page(200, json.dumps({"values": values, "shown": shown}).encode(), JSON_TYPE)
