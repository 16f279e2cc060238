"""Shows messages without consuming them; shared by the verbs of `topics` and `subscriptions`."""

from collections.abc import Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.admin.topics import Peeked
from pulsarctl.errors import NotFound
from pulsarctl.output import render
from pulsarctl.output.render import Output
from pulsarctl.records.peeked_text import BETWEEN, readable_block
from pulsarctl.records.record_output import Show, record_output
from pulsarctl.shell.call import Call
from pulsarctl.values.names import COMPACTION_CURSOR, REPLICATORS, full_topic

if TYPE_CHECKING:
    from pulsarctl.raw.entry_record import EntryRecord

Format = Annotated[
    str | None,
    typer.Option("-F", "--format", metavar="TEMPLATE", help="Template for each message; see 'pulsarctl read --help'."),
]
MARKER = "X-Pulsar-marker-type"
UNCOMMITTED = "X-Pulsar-txn-uncommitted"
ABORTED = "X-Pulsar-txn-aborted"
Count = Annotated[int, typer.Option("-n", "--count", min=1, help="Maximum number of messages.")]


def peek(
    call: Call,
    topic: str,
    subscription: str,
    messages: int,
    template: str | None,
    *,
    markers: bool = False,
    committed: bool = True,
    block: Show = readable_block,
) -> None:
    """Prints the next unacknowledged messages, at most `messages`, and markers if wanted. None is not an error.

    `committed`: it stops where a consumer would wait for a transaction, and leaves out what was aborted.
    """
    show = _show(call, template)
    _check_exists(call, topic, subscription)
    records = _unacknowledged(call, topic, subscription, markers=markers, committed=committed)
    printed = _print(islice(records, messages), show, block)
    if not printed:
        call.notice("no messages")


def _check_exists(call: Call, topic: str, subscription: str) -> None:
    """A broker may create a subscription that it is asked to peek at, and keeps all messages for it from then on."""
    is_cursor_of_broker = subscription == COMPACTION_CURSOR or subscription.startswith(REPLICATORS)
    if not is_cursor_of_broker and subscription not in call.admin.topics.subscriptions(topic):
        raise NotFound(
            f"there is no subscription '{subscription}' on {topic}", hint=f"pulsarctl topics subscriptions {topic}"
        )


def show_entry(call: Call, topic: str, entry: Peeked, template: str | None, *, block: Show = readable_block) -> None:
    """Prints the messages of one entry."""
    _print(_records(topic, entry), _show(call, template), block)


def _records(topic: str, entry: Peeked) -> Iterator["EntryRecord"]:
    from pulsarctl.peek.peeked import peeked_records

    return peeked_records(full_topic(topic), *entry)


def _unacknowledged(
    call: Call, topic: str, subscription: str, *, markers: bool, committed: bool
) -> Iterator["EntryRecord"]:
    """Return every unacknowledged message, fetched entry by entry. Markers are entries of brokers for one another."""
    for number in count(1):
        try:
            entry = call.admin.topics.peek(topic, subscription, number)
        except NotFound as error:
            if (
                error.reason != "Message not found"
            ):  # it is the topic, its namespace, or the subscription that is missing
                raise
            return
        headers = entry[1]
        if committed and headers.get(UNCOMMITTED) == "true":
            return
        if committed and headers.get(ABORTED) == "true":
            continue
        if markers or MARKER not in headers:
            yield from _records(topic, entry)


def _show(call: Call, template: str | None) -> Show | None:
    """None for text, which `read` prints in another way. Raises `UsageProblem`."""
    if template is None and call.output in (Output.AUTO, Output.TEXT):
        return None
    return record_output(call.output, template, frozenset({"index"} if template else ()))


def _print(records: Iterator["EntryRecord"], show: Show | None, block: Show) -> int:
    """Returns the number of messages. `block`: how each is shown if no format was chosen."""
    printed = 0
    for record in records:
        if show is not None:
            render.data(show(record))
        else:
            render.data((BETWEEN if printed else b"") + block(record))
        printed += 1
    render.flush()
    return printed
