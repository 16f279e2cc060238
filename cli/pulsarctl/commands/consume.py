"""`pulsarctl consume`: subscribe to a topic, and print and acknowledge its messages."""

import secrets
from contextlib import closing

from pulsarctl.client.subscribe_options import Settlement, SubscribeOptions
from pulsarctl.consume.consume_options import (
    QUEUE_SIZE,
    AckTimeout,
    ConsumerName,
    DeadLetterTopic,
    Format,
    From,
    HashRanges,
    MaxRedeliveries,
    Nack,
    NackDelay,
    NoAck,
    OnePartition,
    OutOfOrder,
    QueueSize,
    Regex,
    RegexMode,
    Replicated,
    SubscriptionMode,
    SubscriptionName,
    SubscriptionPosition,
    SubscriptionProperties,
    SubscriptionType,
    ToOrTimestamp,
    Transaction,
    check_together,
    dead_letters,
    key_sharing,
    settlement,
)
from pulsarctl.consume.consuming import Stops, consume_all, stops_of
from pulsarctl.consume.consumption import Consumption
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
    crypto_failure_action_of,
)
from pulsarctl.consume.subscribing import Reach, Subscribing, has_backlog
from pulsarctl.encryption.key_source import private_key_file
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.facts.two_clusters import warn_of_two_clusters
from pulsarctl.output import render
from pulsarctl.records.record import HIDDEN_FROM_CLIENT
from pulsarctl.shell.arguments import AnyTopic, Rate, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.chosen_partition import chosen, explained
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.reading import end_of, message_output, position_of
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.choice import one_of
from pulsarctl.values.names import is_scalable
from pulsarctl.values.quantities import parse_duration

PATTERN_MODES = ("persistent", "non-persistent", "all")
LEAST_ACK_TIMEOUT_SECONDS = 10  # the minimum of the official client
_OUTCOMES = {
    Settlement.ACKNOWLEDGE: "successfully consumed",
    Settlement.NACK: "negatively acknowledged",
    Settlement.LEAVE: "received and not acknowledged",
}
STARTS_AT_END = "a new subscription starts after the last message; use -p Earliest to start at the first"
TYPES = ("exclusive", "shared", "failover", "key_shared")

app = Noun("consume", "Subscribe to a topic, and print and acknowledge its messages.")


@app.verb("consume")
def consume(
    call: Call,
    topic: AnyTopic,
    subscription_name: SubscriptionName = None,
    subscription_type: SubscriptionType = "Exclusive",
    subscription_mode: SubscriptionMode = "Durable",
    subscription_position: SubscriptionPosition = "Latest",
    num_messages: NumMessages = None,
    start: From = None,
    to: ToOrTimestamp = None,
    exit_on_end: ExitOnEnd = False,
    idle_timeout: IdleTimeout = "0",
    template: Format = None,
    print_metadata: PrintMetadata = False,
    hexadecimal: Hex = False,
    hide_content: HideContent = False,
    rate: Rate = 0,
    regex: Regex = False,
    regex_mode: RegexMode = "persistent",
    queue_size: QueueSize = 0,
    partition: OnePartition = None,
    transaction: Transaction = False,
    no_ack: NoAck = False,
    nack: Nack = False,
    nack_delay: NackDelay = "1m",
    ack_timeout: AckTimeout = "0",
    dead_letter_topic: DeadLetterTopic = None,
    max_redeliveries: MaxRedeliveries = 16,
    consumer_name: ConsumerName = None,
    hash_ranges: HashRanges = None,
    allow_out_of_order: OutOfOrder = False,
    compacted: Compacted = False,
    properties: SubscriptionProperties = None,
    replicated: Replicated = False,
    max_chunked: MaxChunked = 0,
    ack_chunked: AckChunked = False,
    decryption_key: DecryptionKey = None,
    crypto_failure_action: CryptoFailureAction = "FAIL",
    schema_type: SchemaType = "bytes",
    pool_messages: PoolMessages = "true",
    connect_timeout: ConnectTimeout = "30s",
) -> None:
    r"""Subscribe to a topic, and print and acknowledge its messages.

    A message is acknowledged after it is written to stdout, even within a batch. The default output is that of
    pulsar-client. With -o jsonl, each line is a JSON object, with keyBase64 and valueBase64 for data that is not UTF-8.
    With -F, a template formats each message.

    With --transaction, the messages are acknowledged together after the last is printed, or not at all.

    Examples:
      pulsarctl consume orders -s audit -n 0 -o jsonl
      pulsarctl consume orders -p Earliest -e -F '%k=%v\n'
      pulsarctl consume orders -s audit --from -1h --idle-timeout 10s
      pulsarctl consume orders -s billing -n 100 --transaction
      pulsarctl consume orders -s work -t Shared --nack --nack-delay 5s --dlq auto --max-redeliveries 3 -n 0

    Exit codes: 3 the topic does not exist and cannot be created, 5 no connection, 6 the subscription has another
    consumer, 7 the idle timeout passed before -n messages, 130 Ctrl-C.
    """
    _check_mode(subscription_mode)
    reach = Reach(
        _topic(topic, partition, is_regex=regex),
        None if start is None else position_of(call, "from", start),
        end_of(call, to, exit_on_end=exit_on_end),
    )
    stops = stops_of(num_messages, parse_duration(idle_timeout), bounded=reach.end is not None)
    details = {"metadata": print_metadata, "hexadecimal": hexadecimal, "hide_content": hide_content}
    show = message_output(call, template, schema_type, HIDDEN_FROM_CLIENT, **details)
    kind = one_of(subscription_type, TYPES, "subscription type")
    options = SubscribeOptions(
        subscription=subscription_name or f"pulsarctl-{secrets.token_hex(6)}",
        subscription_type=kind,
        settlement=settlement(no_ack=no_ack, nack=nack),
        nack_delay_ms=round(parse_duration(nack_delay) * 1000),
        ack_timeout_ms=_ack_timeout(ack_timeout),
        dead_letters=dead_letters(dead_letter_topic, max_redeliveries, kind),
        key_sharing=key_sharing(hash_ranges, out_of_order=allow_out_of_order, subscription_type=kind),
        consumer_name=consumer_name,
        from_earliest=one_of(subscription_position, ("latest", "earliest"), "position") == "earliest",
        queue_size=queue_size or _queue_size(stops),
        properties=pairs(properties),
        replicated=replicated,
        compacted=compacted,
        pattern_mode=one_of(regex_mode, PATTERN_MODES, "kind of topics") if regex else None,
        max_chunked_messages=max_chunked,
        ack_oldest_chunked=ack_chunked,
        decryption_key_path=_key_file(call, decryption_key),
        crypto_failure_action=crypto_failure_action_of(crypto_failure_action),
    )
    is_temporary, timeout_seconds = subscription_name is None, parse_duration(connect_timeout)
    consumption = Consumption(reach, options, is_temporary, show, stops, rate, timeout_seconds)
    _check(consumption, transaction=transaction)
    warn_of_two_clusters(call, topic)
    with explained(call, topic, partition):
        _consume(call, consumption, transaction=transaction)


def _check_mode(subscription_mode: str) -> None:
    if subscription_mode.lower() != "durable":
        raise UsageProblem(
            f"cannot subscribe in mode {subscription_mode}: the client does not support it",
            hint="read without a subscription: 'pulsarctl read'",
        )


def _topic(name: str, partition: int | None, *, is_regex: bool) -> str:
    """The full name of the topic or of one partition, or the regular expression."""
    if not is_regex:
        return chosen(name, partition)
    if partition is not None:
        raise UsageProblem("cannot combine --regex and --partition")
    return name


def _queue_size(stops: Stops) -> int:
    return min(stops.count, QUEUE_SIZE) if stops.count else QUEUE_SIZE


def _key_file(call: Call, private_key: str | None) -> str | None:
    return None if private_key is None else call.with_resource(private_key_file(private_key))


def _check(consumption: Consumption, *, transaction: bool) -> None:
    """Raises `UsageProblem` for what a scalable topic or a transaction cannot have."""
    if is_scalable(consumption.topic):
        from pulsarctl.consume.segments import check_segments

        check_segments(consumption, transaction=transaction)
    elif transaction:
        check_together(consumption)


def _consume(call: Call, consumption: Consumption, *, transaction: bool) -> None:
    render.guard_stdout()
    call.with_resource(orderly_end())
    if transaction:
        _consume_together(call, consumption)
    elif is_scalable(consumption.topic):
        _consume_segments(call, consumption)
    else:
        _consume_with_client(call, consumption)


def _consume_together(call: Call, consumption: Consumption) -> None:
    from pulsarctl.consume.together import consume_together

    printed = consume_together(call.settings, consumption)
    call.notice(f"{printed} messages successfully consumed in one transaction")


def _consume_segments(call: Call, consumption: Consumption) -> None:
    from pulsarctl.consume.segments import consume_segments

    def left() -> None:
        if consumption.is_temporary:
            _delete(call, consumption.topic, consumption.options.subscription)

    _report(call, consumption, consume_segments(call.settings, consumption, left))


def _consume_with_client(call: Call, consumption: Consumption) -> None:
    from pulsarctl.client.messaging import Messaging

    show, stops, rate = consumption.show, consumption.stops, consumption.rate
    options, quiet = consumption.options, call.settings.quiet
    subscribing = Subscribing(options, consumption.reach, is_temporary=consumption.is_temporary)
    with closing(Messaging(call.settings, consumption.timeout_seconds)) as client, closing(subscribing):
        source = subscribing.open(client, lambda name: has_backlog(call.admin, name, options.subscription))
        connected = subscribing.all_connected
        printed = consume_all(source, show, stops, rate=rate, quiet=quiet, is_connected=connected)
    _report(call, consumption, printed, subscribing.discarded)


def _delete(call: Call, topic: str, subscription: str) -> None:
    try:
        call.admin.scalable_topics.delete_subscription(topic, subscription)
    except CliError as error:
        call.notice(f"warning: subscription {subscription} of {topic} remains: {error.message}")


def _report(call: Call, consumption: Consumption, printed: int, discarded: int = 0) -> None:
    call.notice(f"{printed} messages {_OUTCOMES[consumption.options.settlement]}")
    if discarded:
        call.notice(f"{discarded} messages discarded: they cannot be decrypted")
    if not printed and consumption.starts_at_end:
        call.notice(STARTS_AT_END)


def _ack_timeout(text: str) -> int:
    """The timeout in milliseconds, 0 for never."""
    seconds = parse_duration(text)
    if 0 < seconds < LEAST_ACK_TIMEOUT_SECONDS:
        raise UsageProblem(f"the ack timeout must be at least {LEAST_ACK_TIMEOUT_SECONDS} s")
    return round(seconds * 1000)
