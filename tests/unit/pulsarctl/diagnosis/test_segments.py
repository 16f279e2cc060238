"""The drawing of a scalable topic: after splits and merges, after a migration, and with many segments."""

from collections.abc import Iterable
from typing import Any

from pulsarctl.diagnosis import segments
from pulsarctl.diagnosis.page import WIDTH, lines


def segment(number: int, start: int, end: int, created: int, parents: Iterable[int] = (), sealed: int = -1) -> Any:
    return {
        "segmentId": number,
        "hashRange": {"start": start, "end": end},
        "state": "ACTIVE" if sealed < 0 else "SEALED",
        "parentIds": list(parents),
        "childIds": [],
        "createdAtEpoch": created,
        "sealedAtEpoch": sealed,
    }


def drawn(*graph: Any, stats: Any = None, **metadata: Any) -> list[str]:
    document = {"epoch": 9, "segments": {str(one["segmentId"]): one for one in graph}, **metadata}
    return list(lines(segments.page(segments.document("topic://t/n/orders", document, stats or {}))))


def rows(*graph: Any, stats: Any = None) -> list[str]:
    """The lines of the segments."""
    found = drawn(*graph, stats=stats)
    return found[found.index("Segments") + 1 : found.index("Subscriptions none")]


def test_a_split_and_a_merge_are_below_their_parents() -> None:
    assert rows(
        segment(4, 0x4000, 0xFFFF, 2, (3, 2)),
        segment(0, 0, 0xFFFF, 0, sealed=1),
        segment(3, 0x8000, 0xFFFF, 1, (0,), sealed=2),
        segment(2, 0x4000, 0x7FFF, 1, (0,), sealed=2),
        segment(1, 0, 0x3FFF, 1, (0,)),
    ) == [
        "  STATE   SEGMENT  FROM  EPOCHS  KEYS       SHARE  0000            ffff",
        "  sealed        0  -     0-1     0000-ffff         ░░░░░░░░░░░░░░░░░░░░",
        "  active        1  0     1-      0000-3fff  25%    █████",
        "  sealed        2  0     1-2     4000-7fff              ░░░░░",
        "  sealed        3  0     1-2     8000-ffff                   ░░░░░░░░░░",
        "  active        4  2,3   2-      4000-ffff  75%         ███████████████",
        "",
    ]


def test_a_migrated_topic_names_the_regular_topics_with_the_old_messages() -> None:
    old = [segment(n, 0, 0xFFFF, 0, sealed=0) | {"legacyTopicName": f"persistent://t/n/o-{n}"} for n in range(4)]
    children = [segment(4 + n, n << 14, (n + 1 << 14) - 1, 0, range(4)) for n in range(4)]
    found = drawn(*old, *children)
    assert found[-2:] == ["        2  persistent://t/n/o-2", "        3  persistent://t/n/o-3"]
    assert "  active        7  0-3   0-      c000-ffff  25%                   █████" in found


def test_a_segment_with_few_keys_has_a_cell_and_many_parents_are_counted() -> None:
    found = rows(segment(10, 0xFFFF, 0xFFFF, 0, (1, 3, 5, 7, 9, 11)))
    assert found[1] == "  active       10  6 others  0-      ffff-ffff  <0.01%                     █"


def test_a_topic_after_many_changes_fits_on_80_columns() -> None:
    ids = range(9_000_000, 9_000_064)
    found = rows(*(segment(n, n - ids[0] << 10, (n - ids[0] << 10) + 1023, 9998, ids[::2], 9999) for n in ids))
    assert len(found) == len(ids) + 2
    assert max(map(len, found)) <= WIDTH


def test_rates_sizes_and_backlogs_are_shown_where_the_broker_has_them() -> None:
    of_billing = {"type": "STREAM", "msgBacklog": 12345, "consumers": [{}, {}]}
    stats = {"msgRateIn": 10.5, "msgRateOut": 0.0, "storageSize": 2048, "subscriptions": {"billing": of_billing}}
    found = drawn(segment(0, 0, 0xFFFF, 0), stats=stats)
    assert "Rates         in 10.5 msg/s; out 0.0 msg/s" in found
    assert "Storage       2.0 KiB" in found
    assert found[-1] == "  billing  STREAM          2   12,345"


def test_the_policy_and_the_properties_are_shown() -> None:
    policy = {"enabled": False, "maxSegments": 8}
    found = drawn(segment(0, 0, 0xFFFF, 0), autoScalePolicy=policy, properties={"owner": "billing"})
    assert found[3:5] == ["Auto-scale    enabled=false, maxSegments=8", "Properties    owner=billing"]


def test_the_owner_and_the_buckets_of_a_segment_are_data() -> None:
    stats = {"layout": {"segments": {"0": {"ownerBroker": "b:8080", "entryBuckets": 4}}}}
    metadata = {"epoch": 0, "segments": {"0": segment(0, 0, 0xFFFF, 0)}}
    found = segments.document("topic://t/n/orders", metadata, stats)["segments"][0]
    assert (found["ownerBroker"], found["entryBuckets"]) == ("b:8080", 4)
