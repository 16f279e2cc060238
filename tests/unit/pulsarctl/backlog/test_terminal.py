"""The report as text: exactly as printed."""

from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.cursor_facts import CursorFacts
from pulsarctl.backlog.report import BacklogSnapshot, PartitionBacklog, Report, SubscriptionBacklog
from pulsarctl.backlog.survey import LiveFacts
from pulsarctl.backlog.tally import BacklogRun, LargeMessage, Tally
from pulsarctl.backlog.terminal import lines

NOW_MS = 1_770_000_000_000
ORDERS = "persistent://shop/eu/orders"
HOUR_MS = 3_600_000

WHOLE = """\
Backlog of shop/eu on 2026-02-02T02:40:00Z
3 subscriptions, 1,204 messages, 1.1 MiB

shop/eu/orders
  SUBSCRIPTION           MESSAGES      SIZE OLDEST  EMPTY IN  VERDICT
  audit                         0       0 B      -         -  ok
  a-subscription-with-a-long-name
                            1,200   1.1 MiB   3d4h        2m  draining

shop/eu/returns
  SUBSCRIPTION           MESSAGES      SIZE OLDEST  EMPTY IN  VERDICT
  billing                       4     400 B   1m5s         -  no consumer

shop/eu/orders, subscription a-subscription-with-a-long-name
  verdict      draining: 5.0 messages/s arrive, 15.0 leave
  consumers    2 (Shared); 5.0/s in, 15.0/s out; 7 delivered, not acknowledged
  stored in    600 entries, 1.1 MiB
  trend        -300 messages, -48.8 KiB in 1h
  delayed      12 messages, 1.2 KiB
  ack holes    3, the largest of 40 entries; 90 acknowledged after
  kept for it  2 ledgers, 3.8 MiB that no other one needs
  age          under 1h            200  ██████
  age          under 7d          1,000  ██████████████████████████████
  partition    1                   900  ██████████████████████████████
  partition    0                   300  ██████████
  keys         eu-1 50%, eu-2 25%
  producers    shop-1 100%
  schemas      version 3 67%, version none 33%
  largest      976.6 KiB at 17:4:2 from shop-1
  TTL          1d removes 1,000 messages, 976.6 KiB
  quota        500.0 KiB for each partition evicts 800 messages, 585.9 KiB
  compaction   leaves 2 keys of 900 messages"""


def test_the_whole_report_is_as_printed() -> None:
    printed = list(lines(report(), details=True))
    start = WHOLE.splitlines()
    assert printed[: len(start)] == start
    assert printed[len(start) : len(start) + 2] == ["", "shop/eu/returns, subscription billing"]


def test_every_line_fits_80_columns() -> None:
    assert max(map(len, lines(report(), details=True))) <= 80


def test_without_details_there_is_one_line_for_each_subscription() -> None:
    assert list(lines(report(), details=False)) == WHOLE.splitlines()[:12]


def report() -> Report:
    return Report(
        target="shop/eu",
        cluster="http://localhost:8080",
        moment=Moment(NOW_MS, ttl_seconds=86_400),
        exact_per="message",
        engine="local",
        tasks=1,
        entries=604,
        quota_bytes=500 * 1024,
        subscriptions=(
            SubscriptionBacklog(ORDERS, "audit", (), Tally()),
            SubscriptionBacklog(ORDERS, "a-subscription-with-a-long-name", partitions(), large()),
            SubscriptionBacklog("persistent://shop/eu/returns", "billing", (), small()),
        ),
        before={(ORDERS, "a-subscription-with-a-long-name"): BacklogSnapshot(NOW_MS - HOUR_MS, 1500, 1_250_000)},
    )


def partitions() -> tuple[PartitionBacklog, ...]:
    live = LiveFacts("Shared", consumers=2, rate_in=2.5, rate_out=7.5, unacked=4)
    blocks = [BacklogRun(17, 0, 800, 600_000), BacklogRun(18, 0, 100, 100_000)]
    return (
        PartitionBacklog(
            f"{ORDERS}-partition-0",
            Tally(messages=300, bytes=500_000),
            live,
            CursorFacts(holes=1, largest_hole=40, acked_above=30),
        ),
        PartitionBacklog(
            f"{ORDERS}-partition-1",
            Tally(messages=900, bytes=700_000, blocks=blocks),
            LiveFacts("Shared", consumers=1, rate_in=2.5, rate_out=7.5, unacked=3),
            CursorFacts(2, 5, 60, kept_ledgers=2, kept_entries=100, kept_bytes=4_000_000),
        ),
    )


def large() -> Tally:
    tally = Tally(messages=1200, entries=600, bytes=1_200_000, delayed_messages=12, delayed_bytes=1200)
    tally.oldest_ms = NOW_MS - 76 * HOUR_MS
    tally.ages = [0, 0, 200, 0, 0, 1000, 0, 0]
    tally.expired_messages, tally.expired_bytes = 1000, 1_000_000
    tally.keyed_messages = 900
    tally.keys.add([("eu-1", 450), ("eu-2", 225)])
    tally.distinct_keys.add(["eu-1", "eu-2"])
    tally.producers.add([("shop-1", 1200)])
    tally.schema_versions.add([("3", 800), ("none", 400)])
    tally.keep_largest([LargeMessage(1_000_000, 17, 4, 2, f"{ORDERS}-partition-1", "shop-1", NOW_MS)])
    return tally


def small() -> Tally:
    tally = Tally(messages=4, entries=4, bytes=400, oldest_ms=NOW_MS - 65_000)
    tally.ages = [0, 4, 0, 0, 0, 0, 0, 0]
    return tally
