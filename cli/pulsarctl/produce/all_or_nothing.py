"""One run of `produce --transaction`: every message is published, or none is."""

import contextlib

from pulsarctl.errors import CliError, Conflict
from pulsarctl.output import render
from pulsarctl.produce.feed import Feed, MessageSplit
from pulsarctl.produce.outgoing import Outgoing
from pulsarctl.produce.transaction_publisher import TransactionPublisher
from pulsarctl.raw.broker_connection import NotAllowed, NotOpen
from pulsarctl.raw.transaction import OutcomeUnknown
from pulsarctl.raw.transaction_producer import TooLarge
from pulsarctl.stop_signals import undisturbed


class AllOrNothing:
    """`ttl` is the timeout of the transaction, as the user wrote it."""

    def __init__(
        self, publisher: TransactionPublisher, outgoing: Outgoing, shape: MessageSplit, ttl: str, *, quiet: bool
    ) -> None:
        self._publisher = publisher
        self._outgoing = outgoing
        self._feed = Feed(publisher, outgoing, shape)
        self._ttl = ttl
        self._quiet = quiet
        self._progress = render.Progress(quiet=quiet)
        self._is_committed = False

    def run(self, rate: float) -> int:
        """Publishes all messages, and returns their number. Any failure and any signal before the commit aborts.

        Raises the error of a message that fails, and `OutcomeUnknown`.
        """
        try:
            self._feed.run(rate, self._tell)
            self._publisher.flush()
            with undisturbed():
                self._publisher.transaction.commit()
                self._is_committed = True
        except (KeyboardInterrupt, SystemExit):
            self._tell_interrupted()
            raise
        except OutcomeUnknown:
            raise
        except CliError as failure:
            raise self._aborted(failure) from failure
        finally:
            self._progress.clear()
        return self._feed.position

    def _tell(self) -> None:
        self._progress.show(f"{self._feed.position:,} messages sent")

    def _tell_interrupted(self) -> None:
        published = f"all {self._feed.position} messages were published" if self._is_committed else self._abort()
        if not self._quiet:
            render.notice(f"interrupted: {published}")

    def _aborted(self, failure: CliError) -> CliError:
        """The error of a run that published nothing."""
        nothing = self._abort()
        if isinstance(failure, NotOpen) or (isinstance(failure, NotAllowed) and self._publisher.transaction.is_overdue):
            return Conflict(
                f"the broker has aborted transaction {self._publisher.transaction.id}; {nothing}",
                hint=f"use a --transaction-timeout above {self._ttl} if that was too short",
                reason=failure.reason,
                request=failure.request,
            )
        if isinstance(failure, TooLarge):
            source = self._outgoing.source_of(self._feed.position)
            return CliError(
                f"cannot send {source}: its {failure.size} bytes exceed the broker's limit; {nothing}",
                hint="raise maxMessageSize on the broker",
            )
        failure.message += f"; {nothing}"
        return failure

    def _abort(self) -> str:
        """What to tell of the messages. Readers of the topic wait for the end of the transaction."""
        try:
            with contextlib.suppress(NotOpen):
                self._publisher.transaction.abort()
        except CliError:
            return f"nothing was published; the broker aborts the transaction after {self._ttl}"
        return "nothing was published"
