"""Verbs that show messages of a topic without consuming them."""

from enum import StrEnum
from typing import Annotated

import typer

from pulsarctl.peek import peeking
from pulsarctl.records.peeked_text import peeked_block
from pulsarctl.shell.arguments import Subscription, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading


class End(StrEnum):
    LATEST = "latest"
    EARLIEST = "earliest"


ServerMarkers = Annotated[
    bool, typer.Option("-ssm", "--show-server-marker", help="Show markers, which brokers write for one another, too.")
]


class Isolation(StrEnum):
    """Names of Pulsar's enum."""

    READ_COMMITTED = "READ_COMMITTED"
    READ_UNCOMMITTED = "READ_UNCOMMITTED"


IsolationLevel = Annotated[
    Isolation,
    typer.Option(
        "-til",
        "--transaction-isolation-level",
        metavar="LEVEL",
        help="READ_COMMITTED, or READ_UNCOMMITTED to show messages of open and aborted transactions, too.",
    ),
]

app = Noun("topics", "")


@app.verb("peek-messages", heading=Heading.MESSAGES)
def peek_messages(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    messages: peeking.Count = 1,
    template: peeking.Format = None,
    server_markers: ServerMarkers = False,
    isolation_level: IsolationLevel = Isolation.READ_COMMITTED,
) -> None:
    """Show the next messages of a subscription without acknowledging them.

    Creates the subscription if it does not exist.

    Example: pulsarctl topics peek-messages orders -s billing -n 3
    """
    committed = isolation_level is Isolation.READ_COMMITTED
    peeking.peek(
        call,
        topic,
        subscription,
        messages,
        template,
        markers=server_markers,
        committed=committed,
        block=peeked_block,
    )


@app.verb("examine-messages", heading=Heading.MESSAGES)
def examine_messages(
    call: Call,
    topic: Topic,
    start: Annotated[
        End,
        typer.Option(
            "-i",
            "--initialPosition",
            "--initial-position",
            metavar="END",
            help="End of the topic to count from: latest or earliest.",
        ),
    ] = End.LATEST,
    number: Annotated[
        int, typer.Option("-m", "--messagePosition", "--message-position", min=1, help="Number of the entry, from 1.")
    ] = 1,
    template: peeking.Format = None,
) -> None:
    """Show a message by its distance from either end of a topic.

    Shows all messages of a batch.

    Example: pulsarctl topics examine-messages orders -i earliest -m 3
    """
    entry = call.admin.topics.examine(topic, number, from_earliest=start is End.EARLIEST)
    peeking.show_entry(call, topic, entry, template, block=peeked_block)


@app.verb("get-message-id-by-index", heading=Heading.MESSAGES)
def get_message_id_by_index(
    call: Call,
    topic: Topic,
    index: Annotated[
        int, typer.Option("-i", "--index", min=0, help="Index: the number of messages that came before the message.")
    ],
) -> None:
    """Show the ID of the message with an index.

    The broker counts the messages of each partition. Pulsar does so if brokerEntryMetadataInterceptors names the
    interceptor, and answers this request since version 4.1. If the message was deleted, the oldest one is shown.

    Example: pulsarctl topics get-message-id-by-index orders -i 1000
    """
    call.show(call.admin.topics.message_id_of_index(topic, index))


@app.verb("get-message-by-id", heading=Heading.MESSAGES)
def get_message_by_id(
    call: Call,
    topic: Topic,
    ledger: Annotated[int, typer.Option("-l", "--ledgerId", "--ledger-id", help="Ledger ID of the message.")],
    entry: Annotated[int, typer.Option("-e", "--entryId", "--entry-id", help="Entry ID of the message.")],
    template: peeking.Format = None,
) -> None:
    """Show a message by its ID.

    Shows all messages of a batch.

    Example: pulsarctl topics get-message-by-id orders -l 4 -e 17
    """
    peeking.show_entry(call, topic, call.admin.topics.message(topic, ledger, entry), template, block=peeked_block)
