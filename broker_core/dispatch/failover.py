"""Failover: the active one of several consumers gets everything, in order.

A consumer that becomes active waits `activeConsumerFailoverDelayTimeMillis`, so that messages the previous one is about
to acknowledge are not sent twice. The first consumer waits, too, as in Apache Pulsar: of consumers that subscribe at
the same time, one gets everything. Then it starts at the first entry that is not acknowledged. The broker
tells every consumer which one is active (ACTIVE_CONSUMER_CHANGE). A new consumer is told at its first FLOW, because
the Go client cannot handle the command before it has seen SUCCESS.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.active_consumer import active_consumer, in_order
from broker_core.dispatch.single_active import SingleActiveDispatcher

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.hash_ranges import KeySharedMode


class FailoverDispatcher(SingleActiveDispatcher):
    _taking_over: TimerHandle | None = None  # the active consumer waits; nothing is sent

    def conflicting_consumers(self, mode: KeySharedMode) -> list[Consumer]:
        return []

    def add(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)
        self.consumers[:] = in_order(self.consumers)
        self._choose()

    def first_flow(self, consumer: Consumer) -> None:
        if self._taking_over is None:
            consumer.tell_active(consumer is self._active)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        if not self.consumers:
            self._active = None
            self._stop_waiting()
        else:
            self._choose()

    def close(self) -> None:
        super().close()
        self._stop_waiting()

    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        if self._taking_over is None:
            super().redeliver(consumer, positions)

    def step(self) -> bool:
        return self._taking_over is None and super().step()

    def _choose(self) -> None:
        name = self.context.topic
        chosen = active_consumer(
            self.consumers, str(name), name.partition, consistent_hashing=self.config.failover_consistent_hashing
        )
        if chosen is self._active:
            return
        self._active = chosen
        delay = self.config.failover_delay_ms / 1000
        if delay <= 0:
            self._stop_waiting()
            self._take_over()
        elif self._taking_over is None:  # else the timer that runs already serves the consumer that is active then
            self._taking_over = self._loop.call_later(delay, self._take_over)

    def _take_over(self) -> None:
        self._taking_over = None
        for consumer in self.consumers:
            if consumer.last_flow_ms:
                consumer.tell_active(consumer is self._active)
        self.rewind()

    def _stop_waiting(self) -> None:
        if self._taking_over is not None:
            self._taking_over.cancel()
            self._taking_over = None
