"""Publishing to one topic through the official client."""

from functools import partial
from typing import Any

import pulsar

from pulsarctl.client.abandoned import in_background
from pulsarctl.client.client_errors import problem
from pulsarctl.client.client_settings import PublishOptions
from pulsarctl.client.lanes import Lanes
from pulsarctl.client.publish_window import PublishWindow
from pulsarctl.client.routing import Router
from pulsarctl.errors import CliError


class Publisher:
    """Publishes to one topic, within the windows of its lanes."""

    def __init__(self, topic: str, lanes: Lanes, router: Router, options: PublishOptions) -> None:
        self.lanes = lanes
        self.is_refused = False  # whether any message was refused; `lanes.refusal` has the first
        self._topic = topic
        self._router = router
        self._fields = {
            "properties": dict(options.properties) or None,
            "ordering_key": options.ordering_key,
            "event_timestamp": options.event_time_ms or None,
            "deliver_at": options.deliver_at_ms or None,
            "disable_replication": options.disable_replication,
        }

    def send(self, value: bytes | None, key: str | None = None) -> None:
        """Sends one message; None is a tombstone. Waits for room in the window; Ctrl-C interrupts the wait.

        Also returns if a message was refused, so check `is_refused`.
        """
        lane = self.lanes.lane(self._router.partition_for(key))
        window = lane.window
        size = 0 if value is None else len(value)
        done = None
        if window.hand_in(size):
            done = partial(self._settle, window, window.sent, size, window.sent_bytes)
        try:
            lane.producer.send_async(value, done, partition_key=key, **self._fields)
        except pulsar.PulsarException as error:
            self._refuse(window, window.sent, size, type(error).__name__)
        if done is not None:
            window.wait_for_room()

    def finish(self) -> None:
        """Waits for the results of all messages; `lanes` then has the exact counts."""
        errors: list[str] = []
        flushing = in_background(partial(self._flush, errors))
        while flushing.is_alive():  # a single join would block Ctrl-C; the send timeout ends the flush
            flushing.join(0.5)
        for lane in self.lanes.open:
            lane.settle_exactly()
            window = lane.window
            if window.refusal is None and window.acknowledged < window.sent:
                self._refuse(window, window.acknowledged + 1, 0, errors[0] if errors else "UnknownError")

    def problem(self, result: str, what: str) -> CliError:
        """The error for a refusal's `result`."""
        return problem(result, what, self._topic)

    def _flush(self, errors: list[str]) -> None:
        for lane in self.lanes.open:
            try:
                lane.producer.flush()
            except pulsar.PulsarException as error:
                errors.append(type(error).__name__)

    def _settle(
        self, window: PublishWindow, position: int, size: int, sent_bytes: int, result: Any, _message_id: Any
    ) -> None:
        if result == pulsar.Result.Ok:
            window.settle(position, size, sent_bytes, None)
        else:
            self._refuse(window, position, size, result.name)

    def _refuse(self, window: PublishWindow, position: int, size: int, result: str) -> None:
        window.settle(position, size, 0, result)
        self.is_refused = True
