"""The load of this broker: traffic by bundle, and what its process takes of the machine."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.rates.time_slices import sliced

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.topic.topic import Topic


@dataclass(slots=True, eq=False, repr=False)
class Load:
    """Rates are per second, over about the last minute."""

    messages_in: float = 0.0
    messages_out: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    topics: int = 0
    producers: int = 0
    consumers: int = 0

    def add(self, topic: Topic) -> None:
        self.topics += 1
        self.producers += len(topic.producers)
        for rate in (topic.published, *(producer.rate for producer in topic.producers.values())):
            messages, size = rate.per_second()
            self.messages_in, self.bytes_in = self.messages_in + messages, self.bytes_in + size
        for subscription in topic.subscriptions.values():
            self.consumers += len(subscription.consumers)
            for rate in (
                subscription.delivery.former_rate,
                *(consumer.rate for consumer in subscription.consumers),
            ):
                messages, size = rate.per_second()
                self.messages_out, self.bytes_out = self.messages_out + messages, self.bytes_out + size


@dataclass(slots=True, eq=False, repr=False)
class BrokerLoad(Load):
    """`cpu_percent` is the average since the start; 100 is one processor. `bundles`: only those with loaded topics."""

    cpu_percent: float = 0.0
    cpu_limit_percent: float = 0.0
    memory_bytes: int = 0
    memory_limit_bytes: int = 0
    bundles: dict[str, Load] = field(default_factory=dict)


async def measured(broker: Broker) -> BrokerLoad:
    load = BrokerLoad()
    async for topic in sliced(list(broker.topics.loaded.values())):
        load.add(topic)
        namespace = topic.name.namespace
        bundle = f"{namespace}/{broker.tenancy.bundles_of(namespace).bundle_of(str(topic.name))}"
        load.bundles.setdefault(bundle, Load()).add(topic)
    seconds = max(1.0, (broker.clock.wall_ms() - broker.started_ms) / 1000)
    load.cpu_percent = round(time.process_time() / seconds * 100, 3)
    load.cpu_limit_percent = 100.0 * (os.cpu_count() or 1)
    load.memory_bytes, load.memory_limit_bytes = resident_bytes(), _physical_bytes()
    return load


def resident_bytes() -> int:
    """The memory that the system counts for this process; 0 if there is no /proc."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _physical_bytes() -> int:
    with contextlib.suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0
