"""Reports made by hand: a namespace with many subscriptions."""

import numpy as np

from pulsarctl.backlog.ack_map import LedgerMap
from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.cursor_facts import CursorFacts
from pulsarctl.backlog.report import PartitionBacklog, Report, SubscriptionBacklog
from pulsarctl.backlog.survey import LiveFacts
from pulsarctl.backlog.tally import LargeMessage, Tally

NOW_MS = 1_770_000_000_000
MINUTE_MS = 60_000


def namespace_of_twenty() -> Report:
    return Report(
        target="shop/eu",
        cluster="http://pulsar.example:8080",
        moment=Moment(NOW_MS),
        exact_per="message",
        engine="spark",
        tasks=40,
        entries=1_000_000,
        quota_bytes=1 << 20,
        subscriptions=tuple(subscription(number) for number in range(20)),
    )


def subscription(number: int, name: str = "") -> SubscriptionBacklog:
    topic = f"persistent://shop/eu/orders-{number // 4}"
    found = tuple(partition(f"{topic}-partition-{index}", number, index) for index in range(3))
    total = Tally()
    for each in found:
        total.merge(each.tally)
    return SubscriptionBacklog(topic, name or f"team-{number}", found, total)


def partition(topic: str, number: int, index: int) -> PartitionBacklog:
    consumers = number % 3
    live = LiveFacts(
        "Shared", consumers, rate_in=5.0, rate_out=float(number) if consumers else 0.0, unacked=number * 10
    )
    return PartitionBacklog(
        topic, tally(topic, number * 100 * (index + 1)), live, CursorFacts(number, 40, 90, map=ack_map(number))
    )


def ack_map(number: int) -> tuple[LedgerMap, ...]:
    """Every third subscription has holes."""
    shares = tuple(((cell * 7 + number) % 5) / 4 for cell in range(100))
    return (LedgerMap(17, 5000, shares),) if number % 3 == 1 else ()


def tally(topic: str, messages: int) -> Tally:
    found = Tally(messages=messages, entries=messages // 2, bytes=messages * 700, keyed_messages=messages)
    if messages:
        found.seen(NOW_MS - 90 * MINUTE_MS, NOW_MS)
        found.ages = [messages // 2, messages // 4, messages - messages // 2 - messages // 4, 0, 0, 0, 0, 0]
        found.sizes[8:12] = [messages // 2, messages // 4, messages // 8, messages // 8]
        found.keys.add((f"customer-{key}", messages // (key * key + 1)) for key in range(12))
        found.distinct_keys.add(f"customer-{key}" for key in range(12))
        found.producers.add([("shop-1", messages // 3), ("shop-2", messages - messages // 3)])
        found.schema_versions.add([("3", messages // 2), ("4", messages - messages // 2)])
        minutes = np.arange(90)
        found.timeline.add(NOW_MS - minutes * MINUTE_MS, messages // (minutes + 3))
        found.keep_largest([LargeMessage(90_000 - each, 17, each, 0, topic, "shop-1", NOW_MS) for each in range(5)])
    return found
