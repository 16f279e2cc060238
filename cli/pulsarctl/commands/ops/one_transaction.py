"""`--transaction` of `ops replay` and `ops import`: all messages of the command, or none."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from pulsarctl.shell.call import Call
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pulsarctl.transfer.target import Target
    from pulsarctl.transfer.transaction_sender import TransactionSender


@contextmanager
def one_transaction(call: Call, target: "Target", ttl: str) -> "Iterator[TransactionSender]":
    """Commits at the end of the block. Raises what the block raises, `NotAllowed` without transactions, `CliError`."""
    from pulsarctl.raw.all_or_nothing import all_or_nothing, tell_interrupted
    from pulsarctl.raw.transaction import Transaction
    from pulsarctl.transfer.transaction_sender import TransactionSender

    seconds = parse_duration(ttl)
    with orderly_end(), closing(target.access.lookup()) as lookup:
        transaction = Transaction(lookup, ttl_seconds=seconds, timeout_seconds=target.access.timeout_seconds)
        tell = tell_interrupted(lambda: sender.sent, quiet=call.settings.quiet)
        with closing(TransactionSender(target, transaction)) as sender, all_or_nothing(transaction, ttl, tell):
            yield sender
            sender.flush()
