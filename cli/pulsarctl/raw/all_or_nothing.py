"""One run of a command that publishes in a transaction: every message is published, or none is."""

import contextlib
from collections.abc import Callable, Iterator

from pulsarctl.errors import CliError, Conflict
from pulsarctl.output import render
from pulsarctl.raw.broker_connection import NotAllowed, NotOpen
from pulsarctl.raw.transaction import OutcomeUnknown, Transaction
from pulsarctl.stop_signals import undisturbed


@contextlib.contextmanager
def all_or_nothing(
    transaction: Transaction, ttl: str, tell_interrupted: Callable[[str | None], None]
) -> Iterator[None]:
    """Commits at the end of the block. Any failure and any signal before the commit aborts. Requires `orderly_end`.

    `ttl` is the timeout of the transaction, as the user wrote it. `tell_interrupted` gets what happened to the
    messages, or None if all were published. Raises the error of the block, and `OutcomeUnknown`.
    """
    is_committed = False
    try:
        yield
        with undisturbed():
            transaction.commit()
            is_committed = True
    except (KeyboardInterrupt, SystemExit):
        tell_interrupted(None if is_committed else _abort(transaction, ttl))
        raise
    except OutcomeUnknown:
        raise
    except CliError as failure:
        raise _aborted(transaction, ttl, failure) from failure
    except Exception:
        _abort(transaction, ttl)
        raise


def tell_interrupted(sent: Callable[[], int], *, quiet: bool) -> Callable[[str | None], None]:
    """A notice on stderr. `sent` is the number of all messages."""

    def tell(outcome: str | None) -> None:
        if not quiet:
            render.notice(f"interrupted: {outcome or f'all {sent()} messages were published'}")

    return tell


def _aborted(transaction: Transaction, ttl: str, failure: CliError) -> CliError:
    """The error of a run that published nothing."""
    nothing = _abort(transaction, ttl)
    if isinstance(failure, NotOpen) or (isinstance(failure, NotAllowed) and transaction.is_overdue):
        return Conflict(
            f"the broker has aborted transaction {transaction.id}; {nothing}",
            hint=f"use a --transaction-timeout above {ttl} if that was too short",
            reason=failure.reason,
            request=failure.request,
        )
    failure.message += f"; {nothing}"
    return failure


def _abort(transaction: Transaction, ttl: str) -> str:
    """What to tell of the messages. Readers of the topic wait for the end of the transaction."""
    try:
        with contextlib.suppress(NotOpen):
            transaction.abort()
    except CliError:
        return f"nothing was published; the broker aborts the transaction after {ttl}"
    return "nothing was published"
