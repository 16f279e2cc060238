"""One run of `produce --transaction`: every message is published, or none is."""

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.produce.feed import Feed, MessageSplit
from pulsarctl.produce.outgoing import Outgoing
from pulsarctl.produce.transaction_publisher import TransactionPublisher
from pulsarctl.raw.all_or_nothing import all_or_nothing, tell_interrupted
from pulsarctl.raw.outgoing_entry import TooLarge


class AllOrNothing:
    """`ttl` is the timeout of the transaction, as the user wrote it."""

    def __init__(
        self, publisher: TransactionPublisher, outgoing: Outgoing, shape: MessageSplit, ttl: str, *, quiet: bool
    ) -> None:
        self._publisher = publisher
        self._outgoing = outgoing
        self._feed = Feed(publisher, outgoing, shape)
        self._ttl = ttl
        self._tell_interrupted = tell_interrupted(lambda: self._feed.position, quiet=quiet)
        self._progress = render.Progress(quiet=quiet)

    def run(self, rate: float) -> int:
        """Publishes all messages, and returns their number. Raises as `all_or_nothing` does."""
        try:
            with all_or_nothing(self._publisher.transaction, self._ttl, self._tell_interrupted):
                self._publish(rate)
        finally:
            self._progress.clear()
        return self._feed.position

    def _publish(self, rate: float) -> None:
        try:
            self._feed.run(rate, self._tell)
            self._publisher.flush()
        except TooLarge as failure:
            source = self._outgoing.source_of(self._feed.position)
            raise CliError(
                f"cannot send {source}: its {failure.size} bytes exceed the broker's limit",
                hint="raise maxMessageSize on the broker",
            ) from failure

    def _tell(self) -> None:
        self._progress.show(f"{self._feed.position:,} messages sent")
