"""The precision of delayed delivery in strict mode, with one message due each millisecond."""

import threading
import time
from pathlib import Path

import pulsar

from tests.long.bench.brokers import scratch_dir
from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect

STRICT = "isDelayedDeliveryDeliverAtTimeStrict=true"
MESSAGES = 10_000
LEAD_MS = 4000  # for publishing them before the first is due
DEADLINE_SECONDS = 60.0


def delivery_times(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "delivery-times"), STRICT) as process:
        late = lateness(process.service_url, "delivery-times", MESSAGES, LEAD_MS)
    median, slow = late[len(late) // 2], late[int(len(late) * 0.99)]
    return (
        f"{MESSAGES:,} delayed messages due over {MESSAGES / 1000:.0f} s, strict: late by {median} ms (median), "
        f"{slow} ms (p99), {late[-1]} ms at most; {sum(one < 0 for one in late)} early"
    )


def lateness(url: str, topic: str, count: int, lead_ms: int) -> list[int]:
    """The delays in milliseconds of `count` messages, one due each millisecond, in ascending order."""
    late: list[int] = []
    done = threading.Event()

    def listen(consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        late.append(now_ms() - int(message.data()))
        consumer.acknowledge(message)
        if len(late) == count:
            done.set()

    client = connect(url)
    client.subscribe(topic, "s", pulsar.ConsumerType.Shared, message_listener=listen)
    producer = client.create_producer(topic, block_if_queue_full=True)
    start = now_ms() + lead_ms
    for due in range(start, start + count):
        producer.send_async(b"%d" % due, lambda *_: None, deliver_at=due)
    complete = done.wait(DEADLINE_SECONDS)
    client.close()
    assert complete, f"{count - len(late)} messages never came"
    return sorted(late)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
