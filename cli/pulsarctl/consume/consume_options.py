"""The options of `consume`, and the settings they make."""

from itertools import pairwise
from typing import Annotated

import typer

from pulsarctl.client.subscribe_options import DeadLetters, KeySharing, Settlement
from pulsarctl.consume.consumption import Consumption
from pulsarctl.consume.reading_options import TO_HELP
from pulsarctl.errors import UsageProblem
from pulsarctl.values.choice import choice
from pulsarctl.values.names import full_topic

QUEUE_SIZE = 1000
TOGETHER_MAX = 50_000  # brokers send a consumer of a Shared subscription no more without acknowledgments
HASHES = 65536  # hash slots of keys (Pulsar docs, "Key_Shared")

SubscriptionName = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--subscription-name",
        metavar="SUBSCRIPTION",
        help="Name of the subscription. Default: a new one, deleted at the end.",
    ),
]
SubscriptionType = Annotated[
    str,
    typer.Option(
        "-t",
        "--subscription-type",
        metavar="TYPE",
        autocompletion=choice("Exclusive", "Shared", "Failover", "Key_Shared"),
        help="Type of the subscription: Exclusive, Shared, Failover, or Key_Shared.",
    ),
]
SubscriptionMode = Annotated[
    str,
    typer.Option(
        "-m",
        "--subscription-mode",
        metavar="MODE",
        autocompletion=choice("Durable"),
        help="Mode of the subscription: Durable. Use 'pulsarctl read' for non-durable reads.",
    ),
]
SubscriptionPosition = Annotated[
    str,
    typer.Option(
        "-p",
        "--subscription-position",
        metavar="WHERE",
        autocompletion=choice("Latest", "Earliest"),
        help="Start of a new subscription: Latest or Earliest.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        "-stp",
        "--start-timestamp",
        metavar="POSITION",
        autocompletion=choice("earliest", "latest"),
        help="Move the subscription first: earliest, latest, L:E, a TIME, or -10m (ten minutes ago).",
    ),
]
ToOrTimestamp = Annotated[str | None, typer.Option("--to", "-etp", "--end-timestamp", metavar="POSITION", help=TO_HELP)]
Format = Annotated[
    str | None,
    typer.Option(
        "-F",
        "--format",
        metavar="TEMPLATE",
        help=r"Template for each message, such as '%k %v\n'; see 'pulsarctl read --help'.",
    ),
]
Regex = Annotated[bool, typer.Option("--regex", help="Treat TOPIC as a regular expression.")]
QueueSize = Annotated[
    int, typer.Option("-q", "--queue-size", min=0, help=f"Messages to fetch ahead; 0 is {QUEUE_SIZE}, or -n if less.")
]
OnePartition = Annotated[int | None, typer.Option("--partition", min=0, help="Consume one partition only.")]
ConsumerName = Annotated[str | None, typer.Option("--consumer-name", metavar="NAME", help="Name of the consumer.")]
RegexMode = Annotated[
    str,
    typer.Option(
        "--regex-mode",
        metavar="KIND",
        autocompletion=choice("persistent", "non-persistent", "all"),
        help="Topics that --regex matches: persistent, non-persistent, or all.",
    ),
]
HashRanges = Annotated[
    list[str] | None,
    typer.Option(
        "--hash-range", metavar="A-B", help="Hash range, from 0 to 65535, that this consumer owns (Key_Shared only)."
    ),
]
OutOfOrder = Annotated[
    bool, typer.Option("--allow-out-of-order", help="Allow a key to change its consumer at any time (Key_Shared only).")
]
Nack = Annotated[
    bool, typer.Option("--nack", help="Negatively acknowledge every message, for redelivery after --nack-delay.")
]
NackDelay = Annotated[str, typer.Option("--nack-delay", metavar="DURATION", help="Redelivery delay of --nack.")]
AckTimeout = Annotated[
    str,
    typer.Option(
        "--ack-timeout",
        metavar="DURATION",
        help="Time after which unacknowledged messages are redelivered; 0 is never.",
    ),
]
DeadLetterTopic = Annotated[
    str | None,
    typer.Option("--dlq", metavar="TOPIC", help="Dead letter topic; auto is TOPIC-SUBSCRIPTION-DLQ."),
]
MaxRedeliveries = Annotated[
    int,
    typer.Option("--max-redeliveries", min=1, help="Redeliveries after which a message goes to the dead letter topic."),
]
Transaction = Annotated[
    bool,
    typer.Option(
        "--transaction", help="Acknowledge the -n messages in one transaction, after the last: all of them, or none."
    ),
]
NoAck = Annotated[bool, typer.Option("--no-ack", help="Do not acknowledge messages.")]
SubscriptionProperties = Annotated[
    list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="Property of the consumer; may be repeated.")
]
Replicated = Annotated[bool, typer.Option("-rs", "--replicated", help="Replicate the state of the subscription.")]


def settlement(*, no_ack: bool, nack: bool) -> Settlement:
    if no_ack and nack:
        raise UsageProblem("cannot combine --no-ack and --nack")
    return Settlement.NACK if nack else Settlement.LEAVE if no_ack else Settlement.ACKNOWLEDGE


def dead_letters(topic: str | None, max_redeliveries: int, subscription_type: str) -> DeadLetters | None:
    """Raises `UsageProblem`: clients move dead letters only on Shared and Key_Shared subscriptions."""
    if topic is None:
        return None
    if subscription_type not in ("shared", "key_shared"):
        raise UsageProblem("--dlq requires a Shared or Key_Shared subscription", hint="use -t Shared")
    return DeadLetters(max_redeliveries, None if topic == "auto" else full_topic(topic))


def key_sharing(ranges: list[str] | None, *, out_of_order: bool, subscription_type: str) -> KeySharing:
    if (ranges or out_of_order) and subscription_type != "key_shared":
        raise UsageProblem(
            "--hash-range and --allow-out-of-order require a Key_Shared subscription", hint="use -t Key_Shared"
        )
    hash_ranges = sorted(_hash_range(text) for text in ranges or ())
    for (_, last), (first, _) in pairwise(hash_ranges):
        if first <= last:
            raise UsageProblem(f"cannot use --hash-range: the ranges overlap at {first}")
    return KeySharing(tuple(hash_ranges), out_of_order)


def _hash_range(text: str) -> tuple[int, int]:
    first, separator, last = text.partition("-")
    if not (separator and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < HASHES):
        raise UsageProblem(f"'{text}' is not a hash range", hint=f"use two numbers up to {HASHES - 1}, such as 0-32767")
    return int(first), int(last)


def official_only(consumption: Consumption) -> dict[str, bool]:
    """The options that need the official client, and whether each is given."""
    options, reach = consumption.options, consumption.reach
    return {
        "--from": reach.start is not None,
        "--to or -e": reach.end is not None,
        "--regex": options.pattern_mode is not None,
        "--ack-timeout": options.ack_timeout_ms > 0,
        "--dlq": options.dead_letters is not None,
        "--hash-range or --allow-out-of-order": options.key_sharing != KeySharing(),
        "--compacted": options.compacted,
        "--property": bool(options.properties),
        "--replicated": options.replicated,
        "-ekv": options.decryption_key_path is not None,
    }


def check_together(consumption: Consumption) -> None:
    """Raises `UsageProblem` for what a transaction cannot do."""
    refused = {
        "--no-ack or --nack": consumption.options.settlement is not Settlement.ACKNOWLEDGE,
        **official_only(consumption),
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageProblem(f"cannot combine --transaction and {option}")
    if consumption.is_temporary:
        raise UsageProblem("--transaction requires a subscription that remains", hint="name it with -s")
    if not 0 < consumption.stops.count <= TOGETHER_MAX:
        raise UsageProblem(f"--transaction requires -n between 1 and {TOGETHER_MAX}")
    if consumption.topic.startswith("non-persistent:"):
        raise UsageProblem("cannot acknowledge messages of a non-persistent topic in a transaction")
