"""`pulsarctl read`: print messages without a subscription."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.client.reachability import check_reachable
from pulsarctl.consume.consuming import consume_all, stops_of
from pulsarctl.consume.reading_options import (
    AckChunked,
    Compacted,
    ConnectTimeout,
    CryptoFailureAction,
    DecryptionKey,
    ExitOnEnd,
    Hex,
    HideContent,
    IdleTimeout,
    MaxChunked,
    NumMessages,
    PoolMessages,
    PrintMetadata,
    SchemaType,
    To,
    crypto_failure_action_of,
)
from pulsarctl.encryption.key_source import private_key
from pulsarctl.shell.arguments import AnyTopic, Rate
from pulsarctl.shell.call import Call
from pulsarctl.shell.chosen_partition import chosen, explained
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.reading import end_of, message_output, position_of
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.message_ids import MessageId
from pulsarctl.values.positions import Latest, Position
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pulsarctl.raw.reading import ReadRequest
    from pulsarctl.raw.unsealing import Unsealing

StartMessageId = Annotated[
    str,
    typer.Option("-m", "--start-message-id", metavar="ID", help="Message to start after: latest, earliest, or L:E."),
]
Inclusive = Annotated[
    bool, typer.Option("-i", "--start-message-id-inclusive", help="Start at the message of -m, not after it.")
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="POSITION",
        help="Position to start at: earliest, latest, L:E[:P[:B]], a TIME, -10m, -N, +N, index:N.",
    ),
]
Format = Annotated[
    str | None, typer.Option("-F", "--format", metavar="TEMPLATE", help="Template for each message, described above.")
]
OnePartition = Annotated[int | None, typer.Option("--partition", min=0, help="Read one partition only.")]
# Accepted as pulsar-client has it. It has no effect on a reader of raw entries.
QueueSize = Annotated[int, typer.Option("-q", "--queue-size", min=0, hidden=True)]

app = Noun("read", "Print messages without a subscription.")


@app.verb("read")
def read(
    call: Call,
    topic: AnyTopic,
    start_message_id: StartMessageId = "latest",
    inclusive: Inclusive = False,
    start: From = None,
    to: To = None,
    num_messages: NumMessages = None,
    exit_on_end: ExitOnEnd = False,
    idle_timeout: IdleTimeout = "0",
    template: Format = None,
    print_metadata: PrintMetadata = False,
    hexadecimal: Hex = False,
    hide_content: HideContent = False,
    rate: Rate = 0,
    partition: OnePartition = None,
    compacted: Compacted = False,
    max_chunked: MaxChunked = 0,
    connect_timeout: ConnectTimeout = "30s",
    queue_size: QueueSize = 0,
    ack_chunked: AckChunked = False,
    decryption_key: DecryptionKey = None,
    crypto_failure_action: CryptoFailureAction = "FAIL",
    schema_type: SchemaType = "bytes",
    pool_messages: PoolMessages = "true",
) -> None:
    r"""Print messages without a subscription.

    Reading acknowledges nothing and leaves nothing on the broker. It shows what the official client hides: sequence
    IDs, delivery times, compression, and the broker's index.

    A template (-F) is text with these escapes:
      %t topic  %k key  %v value  %p partition  %o message ID  %d publish time  %D event time (ms)
      %T %K %V  their lengths, -1 for none    %H number of properties    %h{%k=%v;} for each property
      %e schema version  %x producer  %y sequence ID  %i count  %% %{ %}  \t \n \r \\ \xNN
      %o{ledger|entry|batch|index}  %a{compression|sequence|redelivery|replicated-from|ordering-key|deliver-at}
    Modifiers: %v{hex} {base64} {base64raw} {unpack[>I$]}; %V{big32} {little16} {hex64} {byte}; %d{iso}
    {strftime[%H:%M]}.

    Examples:
      pulsarctl read orders -m earliest -e -o jsonl
      pulsarctl read orders --from -10 -e
      pulsarctl read orders --from -1h --to -30m -F '%d{iso} %k\n'

    Exit codes: 3 the topic does not exist, 5 no connection, 7 timeout, or the idle timeout passed before -n messages.
    """
    from pulsarctl.raw.reading import ReadRequest

    position, end = position_of(call, "from", start or start_message_id), end_of(call, to, exit_on_end=exit_on_end)
    stops = stops_of(num_messages, parse_duration(idle_timeout), bounded=end is not None)
    details = {"metadata": print_metadata, "hexadecimal": hexadecimal, "hide_content": hide_content}
    show = message_output(call, template, schema_type, frozenset(), **details)
    partition = _partition_of(position) if partition is None else partition
    call.with_resource(orderly_end())
    request = ReadRequest(
        call.settings,
        parse_duration(connect_timeout),
        chosen(topic, partition),
        position,
        end,
        inclusive=inclusive or start is not None,
        compacted=compacted,
        chunked_messages_max=max_chunked,
        unsealing=_unsealing(decryption_key, crypto_failure_action_of(crypto_failure_action)),
    )
    check_reachable(request.settings, request.timeout_seconds)
    with explained(call, topic, partition):
        source = request.open()
    with closing(source):
        printed = consume_all(source, show, stops, rate=rate, quiet=call.settings.quiet)
    _report(call, request, printed)


def _partition_of(position: Position) -> int | None:
    """The partition that a message ID names."""
    return position.partition if isinstance(position, MessageId) and position.partition >= 0 else None


def _unsealing(key: str | None, action: str) -> "Unsealing | None":
    """What decrypts messages; `action` is for one that it cannot decrypt."""
    if key is None:
        return None
    from pulsarctl.encryption.decryption import Decryption
    from pulsarctl.raw.unsealing import Unsealing

    return Unsealing(Decryption(private_key(key)), action)


def _report(call: Call, request: "ReadRequest", printed: int) -> None:
    call.notice(f"{printed} messages successfully read")
    if request.unsealing is not None and request.unsealing.discarded:
        call.notice(f"{request.unsealing.discarded} entries discarded: they cannot be decrypted")
    if not printed and isinstance(request.start, Latest):
        call.notice("reading starts after the last message; use -m earliest to start at the first")
