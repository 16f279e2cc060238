"""One run of `produce`: passes every message to the publisher and reports the progress."""

import os
import time
from dataclasses import dataclass
from typing import Protocol

from pulsarctl.client.lanes import Lanes
from pulsarctl.errors import CliError, DoesNotFit, UsageProblem
from pulsarctl.output import render
from pulsarctl.produce.outgoing import Outgoing
from pulsarctl.schemas.value_schema import Encode

DRAIN_SECONDS = 5.0  # how long an interrupted run waits for the next receipt


class Publisher(Protocol):
    """The part of `messaging.Publisher` that a run uses."""

    is_refused: bool

    @property
    def lanes(self) -> Lanes: ...
    def send(self, value: bytes | None, key: str | None = None) -> None: ...
    def finish(self) -> None: ...
    def drain(self, seconds: float, errors: list[str]) -> bool: ...
    def problem(self, result: str, action: str) -> CliError: ...


@dataclass(frozen=True, slots=True)
class MessageSplit:
    """How to split the bytes of a message into key and value, and how to encode the value."""

    key: str | None
    key_delimiter: str | None
    tombstone: bool
    null_value: str | None
    encode: Encode | None = None

    @property
    def is_plain(self) -> bool:
        shaped = self.key_delimiter is not None or self.tombstone or self.null_value is not None
        return not shaped and self.encode is None

    def split(self, data: bytes) -> tuple[str | None, bytes | None]:
        """Raises `DoesNotFit`, and `UnicodeDecodeError` for a key that is not UTF-8, as the protocol requires."""
        key, value = self.key, data
        if self.key_delimiter is not None:
            head, separator, tail = data.partition(os.fsencode(self.key_delimiter))
            if separator:
                key, value = head.decode(), tail
        if self.tombstone and not value:
            return key, None
        if self.null_value is not None and value == os.fsencode(self.null_value):
            return key, None
        return key, value if self.encode is None else self.encode(value)


class Sending:
    """`topic` is only for notices and errors."""

    def __init__(
        self, publisher: Publisher, outgoing: Outgoing, shape: MessageSplit, topic: str, *, quiet: bool
    ) -> None:
        self._publisher = publisher
        self._outgoing = outgoing
        self._shape = shape
        self._topic = topic
        self._quiet = quiet
        self._progress = render.Progress(quiet=quiet)

    def run(self, rate: float) -> int:
        """Sends all messages, `rate` per second (0: no limit); returns how many the broker acknowledged.

        Raises the error of the first refused message, after the result of all others is known.
        """
        try:
            self._send_all(rate)
            self._publisher.finish()
        except (KeyboardInterrupt, SystemExit):  # as `stop_signals.orderly_end` raises them
            self._drain()
            raise
        except CliError as failure:  # from a source or a later partition: earlier messages are still pending
            self._publisher.finish()
            failure.message += f"; {self._how_far()}" if self._publisher.lanes.sent else ""
            raise
        finally:
            self._progress.clear()
        if self._publisher.is_refused:
            raise self._failure()
        return self._publisher.lanes.acknowledged

    def _drain(self) -> None:
        """Waits for the receipts of messages that the broker may have stored. A second signal ends the wait."""
        drained = False
        try:
            drained = self._publisher.drain(DRAIN_SECONDS, [])
        finally:
            lanes = self._publisher.lanes
            uncertain = 0 if drained else lanes.sent - lanes.acknowledged
            stored = f"; the broker may have stored {uncertain} more" if uncertain else ""
            if not self._quiet:
                render.notice(f"interrupted: {self._how_far()}{stored}")

    def _send_all(self, rate: float) -> None:
        publisher, send, key = self._publisher, self._publisher.send, self._shape.key
        plain = self._shape.is_plain
        start = time.monotonic()
        for run in self._outgoing.runs():
            for data in run:
                if rate:
                    time.sleep(max(0.0, start + publisher.lanes.sent / rate - time.monotonic()))
                if plain:
                    send(data, key)
                else:
                    self._send_split(data)
                if publisher.is_refused:
                    return
            self._progress.show(f"{publisher.lanes.acknowledged:,} messages acknowledged")

    def _send_split(self, data: bytes) -> None:
        try:
            key, value = self._shape.split(data)
        except UnicodeDecodeError as error:
            source = self._outgoing.source_of(self._publisher.lanes.sent + 1)
            raise UsageProblem(f"cannot send {source}: the key is not UTF-8 ({error.reason})") from error
        except DoesNotFit as error:
            source = self._outgoing.source_of(self._publisher.lanes.sent + 1)
            raise UsageProblem(f"cannot send {source}: it does not match the schema: {error}") from error
        self._publisher.send(value, key)

    def _failure(self) -> CliError:
        refusal = self._publisher.lanes.refusal
        assert refusal is not None
        source = self._outgoing.source_of(refusal.position)
        if refusal.result == "MessageTooBig":
            return CliError(
                f"cannot send {source}: its {refusal.size} bytes exceed the broker's limit; {self._how_far()}",
                hint="split it with --chunking, or raise maxMessageSize on the broker",
                reason=refusal.result,
            )
        failure = self._publisher.problem(refusal.result, f"produce {source} to {self._topic}")
        failure.message += f"; {self._how_far()}"
        return failure

    def _how_far(self) -> str:
        """How many messages are acknowledged, and where to resume."""
        lanes = self._publisher.lanes
        text = f"{lanes.acknowledged} of {lanes.sent} messages were acknowledged"
        line = self._outgoing.line_after(lanes.acknowledged_in_order)
        if line is None:
            return text
        repeated = lanes.acknowledged - lanes.acknowledged_in_order
        again = f", which sends {repeated} of them again" if repeated else ""
        return f"{text}; resume at line {line}{again}"
