"""One run of `produce`: passes every message to the publisher and reports the progress."""

from typing import TYPE_CHECKING

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.produce.feed import Feed, MessageSplit
from pulsarctl.produce.outgoing import Outgoing

if TYPE_CHECKING:
    from pulsarctl.client.publisher import Publisher
    from pulsarctl.produce.scalable_publisher import ScalablePublisher

DRAIN_SECONDS = 5.0  # how long an interrupted run waits for the next receipt


class Sending:
    """`topic` is only for notices and errors."""

    def __init__(
        self,
        publisher: "Publisher | ScalablePublisher",
        outgoing: Outgoing,
        shape: MessageSplit,
        topic: str,
        *,
        quiet: bool,
    ) -> None:
        self._publisher = publisher
        self._outgoing = outgoing
        self._feed = Feed(publisher, outgoing, shape)
        self._topic = topic
        self._quiet = quiet
        self._progress = render.Progress(quiet=quiet)

    def run(self, rate: float) -> int:
        """Sends all messages, `rate` per second (0: no limit); returns how many the broker acknowledged.

        Raises the error of the first refused message, after the result of all others is known.
        """
        try:
            self._feed.run(rate, self._tell)
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

    def _tell(self) -> None:
        if self._outgoing.lines is not None:
            self._publisher.pause()
        self._progress.show(f"{self._publisher.lanes.acknowledged:,} messages acknowledged")

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
