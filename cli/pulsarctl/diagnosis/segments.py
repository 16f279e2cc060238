"""A scalable topic: its segments as data, and as a page on which each has its place among the keys. Pure.

The statistics of a milestone of Pulsar 5.0 have neither types nor backlogs of subscriptions, nor rates.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulsarctl.diagnosis.page import Fact, Page, Section
from pulsarctl.values.quantities import human_size

Document = dict[str, Any]
KEYS = 1 << 16  # hashes of keys
MAP_WIDTH = 20  # with seven digits of an ID and four of an epoch, a line has 80 columns
LEAST_SHARE = 0.0001
PARENTS_WIDTH = 9
ACTIVE = "ACTIVE"
ACTIVE_BLOCK, SEALED_BLOCK = "█", "░"  # how the map draws a segment


def document(topic: str, metadata: Mapping[str, Any], stats: Mapping[str, Any]) -> Document:
    """The topic with its segments in the order of their IDs, which is that of their creation."""
    owners = (stats.get("layout") or {}).get("segments") or {}
    segments = [
        _segment(one, owners.get(str(one["segmentId"])) or {}) for one in (metadata.get("segments") or {}).values()
    ]
    return {
        "topic": topic,
        "epoch": metadata.get("epoch"),
        "activeSegments": sum(one["state"] == ACTIVE for one in segments),
        "segments": sorted(segments, key=lambda one: int(one["segmentId"])),
        "subscriptions": [_subscription(name, one) for name, one in sorted((stats.get("subscriptions") or {}).items())],
        "properties": metadata.get("properties") or {},
        "autoScalePolicy": metadata.get("autoScalePolicy") or {},
    } | {name: stats[name] for name in ("msgRateIn", "msgRateOut", "storageSize") if name in stats}


def _segment(segment: Mapping[str, Any], of_stats: Mapping[str, Any]) -> Document:
    start, end = (int(segment["hashRange"][side]) for side in ("start", "end"))
    optional = {"legacyTopicName": segment.get("legacyTopicName")}
    optional |= {name: of_stats.get(name) for name in ("ownerBroker", "entryBuckets")}
    return {
        "segmentId": segment["segmentId"],
        "state": segment["state"],
        "hashRange": f"{start:04x}-{end:04x}",
        "share": (end - start + 1) / KEYS,
        "parentIds": sorted(segment.get("parentIds") or ()),
        "childIds": sorted(segment.get("childIds") or ()),
        "createdAtEpoch": segment["createdAtEpoch"],
        "sealedAtEpoch": segment["sealedAtEpoch"] if segment["sealedAtEpoch"] >= 0 else None,
    } | {name: value for name, value in optional.items() if value is not None}


def _subscription(name: str, stats: Mapping[str, Any]) -> Document:
    consumers = stats.get("consumers")
    count = stats.get("consumerCount") if consumers is None else len(consumers)
    return {"name": name, "type": stats.get("type"), "consumers": count, "backlog": stats.get("msgBacklog")}


def page(graph: Document) -> Page:
    """The page of such a document, at 80 columns."""
    return Page(
        "Topic",
        graph["topic"],
        list(_facts(graph)),
        (
            Section("Segments", SEGMENT_COLUMNS, [_row(one) for one in graph["segments"]]),
            Section("Subscriptions", SUBSCRIPTION_COLUMNS, [_cells(one) for one in graph["subscriptions"]]),
            *_regular_topics(graph["segments"]),
        ),
    )


SEGMENT_COLUMNS = ("STATE", "SEGMENT", "FROM", "EPOCHS", "KEYS", "SHARE", f"{'0000':<{MAP_WIDTH - 4}}ffff")
SUBSCRIPTION_COLUMNS = ("NAME", "TYPE", "CONSUMERS", "BACKLOG")


def _facts(graph: Document) -> Iterator[Fact]:
    active = graph["activeSegments"]
    yield "Epoch", str(graph["epoch"])
    yield "Segments", f"{active} active, {len(graph['segments']) - active} sealed"
    if "msgRateIn" in graph:
        yield "Rates", f"in {graph['msgRateIn']:,.1f} msg/s; out {graph.get('msgRateOut', 0):,.1f} msg/s"
    if "storageSize" in graph:
        yield "Storage", human_size(graph["storageSize"])
    yield "Auto-scale", _pairs(graph["autoScalePolicy"]) or "as the namespace and the broker say"
    if graph["properties"]:
        yield "Properties", _pairs(graph["properties"])


def _pairs(members: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in members.items()
    )


def _row(segment: Document) -> tuple[str, ...]:
    is_active = segment["state"] == ACTIVE
    sealed = "" if segment["sealedAtEpoch"] is None else segment["sealedAtEpoch"]
    return (
        segment["state"].lower(),
        str(segment["segmentId"]),
        _ids(segment["parentIds"]),
        f"{segment['createdAtEpoch']}-{sealed}",
        segment["hashRange"],
        _percent(segment["share"]) if is_active else "",
        _place(segment),
    )


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%" if share >= LEAST_SHARE else f"<{LEAST_SHARE:.2%}"


def _place(segment: Document) -> str:
    """The keys of a segment on a line that stands for all keys; one cell at least."""
    start, end = (int(side, 16) for side in segment["hashRange"].split("-"))
    first = start * MAP_WIDTH // KEYS
    last = max(first + 1, (end + 1) * MAP_WIDTH // KEYS)
    return " " * first + (ACTIVE_BLOCK if segment["state"] == ACTIVE else SEALED_BLOCK) * (last - first)


def _ids(ids: Sequence[int]) -> str:
    """`-`, `0`, `1,2`, or of many `0-63`; how many there are if that is long."""
    runs: list[list[int]] = []
    for one in ids:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    text = ",".join(_run(run) for run in runs) or "-"
    return text if len(text) <= PARENTS_WIDTH else f"{len(ids)} others"


def _run(run: list[int]) -> str:
    return ",".join(map(str, run)) if len(run) < 3 else f"{run[0]}-{run[-1]}"


def _cells(subscription: Document) -> tuple[str, ...]:
    values = (subscription[name] for name in ("name", "type", "consumers", "backlog"))
    return tuple("-" if value is None else f"{value:,}" if isinstance(value, int) else str(value) for value in values)


def _regular_topics(segments: Sequence[Document]) -> Iterator[Section]:
    rows = [(str(one["segmentId"]), one["legacyTopicName"]) for one in segments if "legacyTopicName" in one]
    if rows:
        yield Section("Regular topics with old messages", ("SEGMENT", "TOPIC"), rows)
