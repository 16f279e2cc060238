"""The options of `consume`, and what they say together."""

from itertools import pairwise
from typing import Annotated

import typer

from pulsarctl.client.subscribe_options import DeadLetters, KeySharing, Settlement
from pulsarctl.errors import UsageProblem
from pulsarctl.values.names import full_topic

QUEUE_SIZE = 1000
HASHES = 65536  # of keys (Pulsar docs, "Key_Shared")

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
ConsumerName = Annotated[str | None, typer.Option("--consumer-name", metavar="NAME", help="Name of the consumer.")]
RegexMode = Annotated[
    str,
    typer.Option("--regex-mode", metavar="KIND", help="What --regex finds: persistent, non-persistent, all."),
]
HashRanges = Annotated[
    list[str] | None,
    typer.Option("--hash-range", metavar="A-B", help="Key_Shared: the keys of these hashes, 0 to 65535, are ours."),
]
OutOfOrder = Annotated[
    bool, typer.Option("--allow-out-of-order", help="Key_Shared: a key may change its consumer at any time.")
]
Nack = Annotated[bool, typer.Option("--nack", help="Give every message back: it comes again after --nack-delay.")]
NackDelay = Annotated[
    str, typer.Option("--nack-delay", metavar="DURATION", help="How long a message given back stays away.")
]
AckTimeout = Annotated[
    str,
    typer.Option("--ack-timeout", metavar="DURATION", help="Ask again for what was not acknowledged; 0: never."),
]
DeadLetterTopic = Annotated[
    str | None,
    typer.Option("--dlq", metavar="TOPIC", help="Where dead letters go; auto is TOPIC-SUBSCRIPTION-DLQ."),
]
MaxRedeliveries = Annotated[
    int, typer.Option("--max-redeliveries", min=1, help="After so many redeliveries a message is a dead letter.")
]
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
SchemaType = Annotated[
    str,
    typer.Option(
        "-st", "--schema-type", "--schema", metavar="KIND", help="bytes, or auto_consume (auto): decode by the topic's."
    ),
]
PoolMessages = Annotated[str, typer.Option("-pm", "--pool-messages", hidden=True)]
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Longest wait for the broker's answers.")]


def settlement(*, no_ack: bool, nack: bool) -> Settlement:
    if no_ack and nack:
        raise UsageProblem("--no-ack and --nack exclude each other")
    return Settlement.GIVE_BACK if nack else Settlement.LEAVE if no_ack else Settlement.ACKNOWLEDGE


def dead_letters(topic: str | None, max_redeliveries: int, subscription_type: str) -> DeadLetters | None:
    """Clients move dead letters on Shared and Key_Shared subscriptions only, where each message is settled alone."""
    if topic is None:
        return None
    if subscription_type not in ("shared", "key_shared"):
        raise UsageProblem("--dlq needs a Shared or Key_Shared subscription", hint="-t Shared")
    return DeadLetters(max_redeliveries, None if topic == "auto" else full_topic(topic))


def key_sharing(ranges: list[str] | None, *, out_of_order: bool, subscription_type: str) -> KeySharing:
    if (ranges or out_of_order) and subscription_type != "key_shared":
        raise UsageProblem("--hash-range and --allow-out-of-order are for Key_Shared", hint="-t Key_Shared")
    found = sorted(_hash_range(text) for text in ranges or ())
    for (_, last), (first, _) in pairwise(found):
        if first <= last:
            raise UsageProblem(f"the hash ranges overlap at {first}")
    return KeySharing(tuple(found), out_of_order)


def _hash_range(text: str) -> tuple[int, int]:
    first, separator, last = text.partition("-")
    if not (separator and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < HASHES):
        raise UsageProblem(f"'{text}' is no range of hashes", hint=f"two numbers up to {HASHES - 1}, as in 0-32767")
    return int(first), int(last)
