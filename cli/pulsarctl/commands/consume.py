"""`pulsarctl consume`: subscribe, print and acknowledge messages."""

import secrets
import time
from typing import Annotated

import typer

from pulsarctl import render
from pulsarctl.arguments import Topic, pairs
from pulsarctl.call import Call
from pulsarctl.consuming import Stops, consume_all, stops_of
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.grammar import Noun
from pulsarctl.names import full_topic
from pulsarctl.positions import Latest, parse_position
from pulsarctl.quantities import parse_duration
from pulsarctl.record import HIDDEN_FROM_CLIENT
from pulsarctl.record_output import Show, record_output
from pulsarctl.subscribing import Reach, SubscribeOptions, Subscribing
from pulsarctl.termination import orderly_sigterm

TYPES = ("exclusive", "shared", "failover", "key_shared")
QUEUE_SIZE = 1000

SubscriptionName = Annotated[
    str | None,
    typer.Option("-s", "--subscription-name", metavar="NAME", help="Without it, a subscription for this run only."),
]
SubscriptionType = Annotated[
    str, typer.Option("-t", "--subscription-type", metavar="TYPE", help="Exclusive, Shared, Failover or Key_Shared.")
]
SubscriptionMode = Annotated[
    str, typer.Option("-m", "--subscription-mode", metavar="MODE", help="Durable; `read` is what is not durable.")
]
SubscriptionPosition = Annotated[
    str,
    typer.Option("-p", "--subscription-position", metavar="WHERE", help="Latest or Earliest, of a new subscription."),
]
NumMessages = Annotated[
    int | None,
    typer.Option(
        "-n", "--num-messages", min=0, help="How many; 0 for ever. 1, or no limit with -e, --to, --idle-timeout."
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="POSITION", help="Move the subscription here: earliest, latest, L:E, @TIME, @-1h."),
]
To = Annotated[str | None, typer.Option("--to", metavar="POSITION", help="Stop behind it: latest, L:E, @TIME, @-1h.")]
ExitOnEnd = Annotated[bool, typer.Option("-e", "--exit-on-end", help="Stop at what is the last message now.")]
IdleTimeout = Annotated[
    str, typer.Option("--idle-timeout", metavar="DURATION", help="Stop when nothing came for so long.")
]
Format = Annotated[
    str | None,
    typer.Option("-F", "--format", metavar="TEMPLATE", help=r"As in '%k %v\n'; see `pulsarctl read --help`."),
]
PrintMetadata = Annotated[bool, typer.Option("-mp", "--print-metadata", help="Print more of each message as text.")]
Hex = Annotated[bool, typer.Option("--hex", help="Print the content as a hex dump.")]
HideContent = Annotated[bool, typer.Option("--hide-content", help="Print only how many there were.")]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Messages a second; 0 is no limit.")]
Regex = Annotated[bool, typer.Option("--regex", help="TOPIC is a regular expression.")]
QueueSize = Annotated[
    int, typer.Option("-q", "--queue-size", min=0, help=f"Fetch so many ahead; 0: {QUEUE_SIZE}, at most -n.")
]
OnePartition = Annotated[int | None, typer.Option("--partition", min=0, help="Consume this partition only.")]
NoAck = Annotated[bool, typer.Option("--no-ack", help="Acknowledge nothing: the messages come again.")]
Compacted = Annotated[bool, typer.Option("--compacted", help="Of each key the last value, where compacted.")]
SubscriptionProperties = Annotated[
    list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="A property of the consumer.")
]
Replicated = Annotated[bool, typer.Option("-rs", "--replicated", help="Replicate the subscription's state.")]
MaxChunked = Annotated[int, typer.Option("-mc", "--max_chunked_msg", min=0, hidden=True)]
AckChunked = Annotated[bool, typer.Option("-ac", "--auto_ack_chunk_q_full", hidden=True)]
DecryptionKey = Annotated[str | None, typer.Option("-ekv", "--encryption-key-value", hidden=True)]
CryptoFailureAction = Annotated[str, typer.Option("-ca", "--crypto-failure-action", hidden=True)]
SchemaType = Annotated[str, typer.Option("-st", "--schema-type", hidden=True)]
PoolMessages = Annotated[str, typer.Option("-pm", "--pool-messages", hidden=True)]
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Longest wait for the broker's answers.")]

app = Noun("consume", "Subscribe, print and acknowledge messages.")


@app.verb("consume")
def consume(
    call: Call,
    topic: Topic,
    subscription_name: SubscriptionName = None,
    subscription_type: SubscriptionType = "Exclusive",
    subscription_mode: SubscriptionMode = "Durable",
    subscription_position: SubscriptionPosition = "Latest",
    num_messages: NumMessages = None,
    start: From = None,
    to: To = None,
    exit_on_end: ExitOnEnd = False,
    idle_timeout: IdleTimeout = "0",
    template: Format = None,
    print_metadata: PrintMetadata = False,
    hexadecimal: Hex = False,
    hide_content: HideContent = False,
    rate: Rate = 0,
    regex: Regex = False,
    queue_size: QueueSize = 0,
    partition: OnePartition = None,
    no_ack: NoAck = False,
    compacted: Compacted = False,
    properties: SubscriptionProperties = None,
    replicated: Replicated = False,
    max_chunked: MaxChunked = 0,
    ack_chunked: AckChunked = False,
    decryption_key: DecryptionKey = None,
    crypto_failure_action: CryptoFailureAction = "FAIL",
    schema_type: SchemaType = "bytes",
    pool_messages: PoolMessages = "true",
    timeout: Timeout = "30s",
) -> None:
    r"""Subscribe, print and acknowledge messages.

    A message is acknowledged once it is written to stdout. Text is what pulsar-client prints; -o jsonl is one object a
    line, with keyBase64 and valueBase64 for what is not UTF-8; -F is a template.

    Examples:
      pulsarctl consume orders -s audit -n 0 -o jsonl
      pulsarctl consume orders -p Earliest -e -F '%k=%v\n'
      pulsarctl consume orders -s audit --from @-1h --idle-timeout 10s

    Errors: 3 the topic does not exist and may not be created, 5 no broker, 6 the subscription has another consumer,
    130 after Ctrl-C.
    """
    if subscription_mode.lower() != "durable":
        raise UsageProblem(
            f"the official client makes no {subscription_mode} subscriptions", hint="pulsarctl read needs none"
        )
    now_ms = time.time_ns() // 1_000_000
    reach = Reach(
        topic=topic if regex else full_topic(topic) + ("" if partition is None else f"-partition-{partition}"),
        start=None if start is None else parse_position(start, now_ms),
        end=Latest() if exit_on_end else None if to is None else parse_position(to, now_ms),
    )
    stops = stops_of(num_messages, parse_duration(idle_timeout), bounded=reach.end is not None)
    settings = call.settings
    details = {"metadata": print_metadata, "hexadecimal": hexadecimal, "hide_content": hide_content}
    show = record_output(settings.output, template, HIDDEN_FROM_CLIENT, **details)
    options = SubscribeOptions(
        subscription=subscription_name or f"pulsarctl-{secrets.token_hex(6)}",
        subscription_type=_one_of(subscription_type, TYPES, "subscription type"),
        from_earliest=_one_of(subscription_position, ("latest", "earliest"), "position") == "earliest",
        queue_size=queue_size or (min(stops.count, QUEUE_SIZE) if stops.count else QUEUE_SIZE),
        properties=pairs(properties),
        replicated=replicated,
        compacted=compacted,
        is_pattern=regex,
        max_chunked_messages=max_chunked,
        ack_oldest_chunked=ack_chunked,
        decryption_key_path=None if decryption_key is None else decryption_key.removeprefix("file://"),
        crypto_failure_action=_one_of(crypto_failure_action, ("fail", "discard", "consume"), "crypto failure action"),
    )
    subscribing = Subscribing(options, reach, is_temporary=subscription_name is None, acknowledges=not no_ack)
    printed = _run(call, subscribing, show, stops, rate, parse_duration(timeout))
    call.notice(f"{printed} messages successfully consumed")
    if not printed and subscribing.starts_at_latest:
        call.notice("a subscription that is new starts behind the last message; -p Earliest starts at the first")


def _run(
    call: Call, subscribing: Subscribing, show: Show | None, stops: Stops, rate: float, timeout_seconds: float
) -> int:
    settings = call.settings
    render.guard_stdout()
    call.with_resource(orderly_sigterm())

    from pulsarctl.messaging import Messaging

    client = Messaging(settings, timeout_seconds)
    try:
        source = subscribing.open(client, lambda name: has_backlog(call, name, subscribing.options.subscription))
        return consume_all(source, show, stops, rate=rate, quiet=settings.quiet)
    finally:
        subscribing.close()
        client.close()


def has_backlog(call: Call, topic: str, subscription: str) -> bool | None:
    """Whether the broker holds something for the subscription; None when its admin API does not tell."""
    try:
        found = call.admin.topics.stats(topic).get("subscriptions", {}).get(subscription)
    except CliError:
        return None
    return None if found is None else int(found["msgBacklog"]) > 0


def _one_of(text: str, known: tuple[str, ...], what: str) -> str:
    """The lower-case spelling; pulsar-client's own spellings differ in case only."""
    if text.lower() not in known:
        raise UsageProblem(f"there is no {what} '{text}'", hint="one of " + ", ".join(known))
    return text.lower()
