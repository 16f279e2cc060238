"""Publishing to one topic through the official client."""

from functools import partial
from typing import Any

import pulsar

from pulsarctl.client.abandoned import in_background
from pulsarctl.client.ack_deadline import AckDeadline
from pulsarctl.client.client_errors import problem
from pulsarctl.client.lanes import Lanes
from pulsarctl.client.native_log import NativeLog
from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.client.publish_window import PublishWindow
from pulsarctl.client.routing import Router
from pulsarctl.errors import CliError


class Publisher:
    """Publishes to one topic, within the windows of its lanes."""

    def __init__(self, topic: str, lanes: Lanes, router: Router, options: PublishOptions, log: NativeLog) -> None:
        self.lanes = lanes
        self.is_refused = False  # whether any message was refused; `lanes.refusal` has the first
        self._topic = topic
        self._router = router
        self._log = log
        self._is_overdue = False
        self._timeout_seconds = options.send_timeout_ms / 1000
        self._fields = {
            "properties": dict(options.properties) or None,
            "ordering_key": options.ordering_key,
            "event_timestamp": options.event_time_ms or None,
            "deliver_at": options.deliver_at_ms or None,
            "disable_replication": options.disable_replication,
        }

    def send(self, value: bytes | None, key: str | None = None) -> None:
        """Sends one message; None is a tombstone. Waits for space in the window; Ctrl-C interrupts the wait.

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
        if done is not None and window.is_full:
            self._wait_for_room(window)

    def pause(self) -> None:
        """Does nothing: the client sends a batch a short time after its first message."""

    def finish(self) -> None:
        """Waits for the results of all messages; `lanes` then has the exact counts."""
        errors: list[str] = []
        flushed = self.drain(0 if self._is_overdue else self._timeout_seconds, errors)
        for window in (lane.window for lane in self.lanes.open):
            if window.refusal is None and window.acknowledged < window.sent:
                result = errors[0] if errors else "UnknownError" if flushed else "Timeout"
                self._refuse(window, window.acknowledged + 1, 0, result)

    def drain(self, seconds: float, errors: list[str]) -> bool:
        """Waits until all results are known; `lanes` then has the exact counts of acknowledged messages.

        Adds what the client raises to `errors`. Returns false after `seconds` without another acknowledgment. Ctrl-C
        interrupts it.
        """
        deadline = AckDeadline(seconds)
        flushing = in_background(partial(self._flush, errors))
        while flushing.is_alive() and not deadline.has_passed(self.lanes.settle_exactly()):
            flushing.join(0.1)  # a single join would block Ctrl-C
            self._log.bound()
        self.lanes.settle_exactly()
        return not flushing.is_alive()

    def problem(self, result: str, action: str) -> CliError:
        """The error for a refusal's `result`."""
        return problem(result, action, self._topic, self._log.said())

    def _wait_for_room(self, window: PublishWindow) -> None:
        deadline = AckDeadline(self._timeout_seconds)

        def is_overdue() -> bool:
            self._log.bound()
            return deadline.has_passed(self.lanes.settle_exactly())

        window.wait_for_room(is_overdue)
        if window.is_full and window.refusal is None:
            self._is_overdue = True
            self._refuse(window, window.acknowledged + 1, 0, "Timeout")

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
