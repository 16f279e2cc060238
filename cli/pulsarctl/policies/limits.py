"""The policies that limit numbers and sizes."""

from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.flags import number
from pulsarctl.policies.policy import Policy
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.quantities import parse_size


def max_producers(
    call: Call,
    *,
    limit: Annotated[
        int,
        number(
            "-p", "--max-producers-per-topic", "--max-producers", "--size", help="Maximum number; 0 means no limit."
        ),
    ],
) -> int:
    """Limit the number of producers of each topic."""
    return limit


def max_consumers(
    call: Call,
    *,
    limit: Annotated[
        int,
        number(
            "-c", "--max-consumers-per-topic", "--max-consumers", "--size", help="Maximum number; 0 means no limit."
        ),
    ],
) -> int:
    """Limit the number of consumers of each topic."""
    return limit


def max_consumers_per_subscription(
    call: Call,
    *,
    limit: Annotated[
        int, number("-c", "--max-consumers-per-subscription", "--size", help="Maximum number; 0 means no limit.")
    ],
) -> int:
    """Limit the number of consumers of each subscription."""
    return limit


def max_subscriptions(
    call: Call,
    *,
    limit: Annotated[
        int, number("-m", "--max-subscriptions-per-topic", "-s", help="Maximum number; 0 means no limit.")
    ],
) -> int:
    """Limit the number of subscriptions of each topic."""
    return limit


def max_topics(
    call: Call,
    *,
    limit: Annotated[int, number("-t", "--max-topics-per-namespace", help="Maximum number; 0 means no limit.")],
) -> int:
    """Limit the number of topics, counting each partition."""
    return limit


def max_unacked_per_consumer(
    call: Call,
    *,
    limit: Annotated[
        int,
        number(
            "-c",
            "--max-unacked-messages-per-consumer",
            "--max-unacked-messages-per-topic",
            "-m",
            "--maxNum",
            help="Maximum number; 0 means no limit.",
        ),
    ],
) -> int:
    """Limit the number of unacknowledged messages of each consumer."""
    return limit


def max_unacked_per_subscription(
    call: Call,
    *,
    limit: Annotated[
        int,
        number(
            "-c", "--max-unacked-messages-per-subscription", "-m", "--maxNum", help="Maximum number; 0 means no limit."
        ),
    ],
) -> int:
    """Limit the number of unacknowledged messages of each subscription."""
    return limit


def max_message_size(
    call: Call,
    *,
    size: Annotated[str, typer.Option("-m", "--max-message-size", metavar="SIZE", help="Maximum message size.")],
) -> int:
    """Limit the size of messages."""
    return parse_size(size)


MAX_CONSUMERS_PER_SUBSCRIPTION = Policy(
    Heading.LIMITS,
    "max-consumers-per-subscription",
    "maxConsumersPerSubscription",
    max_consumers_per_subscription,
    "-c 10",
    value=values.COUNT,
    document="max_consumers_per_subscription",
)

OF_NAMESPACES = (
    Policy(
        Heading.LIMITS,
        "max-producers-per-topic",
        "maxProducersPerTopic",
        max_producers,
        "-p 10",
        value=values.COUNT,
        document="max_producers_per_topic",
    ),
    Policy(
        Heading.LIMITS,
        "max-consumers-per-topic",
        "maxConsumersPerTopic",
        max_consumers,
        "-c 10",
        value=values.COUNT,
        document="max_consumers_per_topic",
    ),
    MAX_CONSUMERS_PER_SUBSCRIPTION,
    Policy(
        Heading.LIMITS,
        "max-subscriptions-per-topic",
        "maxSubscriptionsPerTopic",
        max_subscriptions,
        "-m 10",
        value=values.COUNT,
        document="max_subscriptions_per_topic",
    ),
    Policy(
        Heading.LIMITS,
        "max-topics-per-namespace",
        "maxTopicsPerNamespace",
        max_topics,
        "-t 100",
        value=values.COUNT,
        document="max_topics_per_namespace",
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesPerConsumer",
        max_unacked_per_consumer,
        "-c 1000",
        value=values.COUNT,
        document="max_unacked_messages_per_consumer",
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesPerSubscription",
        max_unacked_per_subscription,
        "-c 1000",
        value=values.COUNT,
        document="max_unacked_messages_per_subscription",
    ),
)
OF_TOPICS = (
    Policy(
        Heading.LIMITS,
        "max-producers",
        "maxProducers",
        max_producers,
        "-p 10",
        also=("maxProducers",),
        value=values.COUNT,
    ),
    Policy(
        Heading.LIMITS,
        "max-consumers",
        "maxConsumers",
        max_consumers,
        "-c 10",
        also=("maxConsumers",),
        value=values.COUNT,
    ),
    MAX_CONSUMERS_PER_SUBSCRIPTION,
    Policy(
        Heading.LIMITS,
        "max-subscriptions",
        "maxSubscriptionsPerTopic",
        max_subscriptions,
        "-m 10",
        also=("max-subscriptions-per-topic",),
        value=values.COUNT,
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesOnConsumer",
        max_unacked_per_consumer,
        "-m 1000",
        also=("max-unacked-messages-on-consumer",),
        value=values.COUNT,
    ),
    Policy(
        Heading.LIMITS,
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesOnSubscription",
        max_unacked_per_subscription,
        "-m 1000",
        also=("max-unacked-messages-on-subscription",),
        value=values.COUNT,
    ),
    Policy(Heading.LIMITS, "max-message-size", "maxMessageSize", max_message_size, "-m 1M", value=values.SIZE),
)
