"""The policies that create topics and subscriptions on first use, and delete them when they are unused."""

from dataclasses import replace
from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.policies import values
from pulsarctl.policies.flags import Disable, Document, Enable, number, switch
from pulsarctl.policies.policy import Policy
from pulsarctl.policies.values import DELETE_MODES, TOPIC_TYPES
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice, one_of
from pulsarctl.values.quantities import parse_seconds


def inactive_topic_policies(
    call: Call,
    *,
    max_inactive: Annotated[
        str,
        typer.Option(
            "-t", "--max-inactive-duration", metavar="DURATION", help="Time after which an unused topic is inactive."
        ),
    ],
    mode: Annotated[
        str,
        typer.Option(
            "-m",
            "--delete-mode",
            metavar="MODE",
            autocompletion=choice(*DELETE_MODES),
            help=f"What counts as unused: {', '.join(DELETE_MODES)}.",
        ),
    ],
    enable: Annotated[
        bool, typer.Option("-e", "--enable-delete-while-inactive", help="Delete inactive topics.")
    ] = False,
    disable: Annotated[
        bool, typer.Option("-d", "--disable-delete-while-inactive", help="Keep inactive topics.")
    ] = False,
) -> Document:
    """Delete topics that are not in use."""
    return {
        "inactiveTopicDeleteMode": one_of(mode, DELETE_MODES, "mode"),
        "maxInactiveDurationSeconds": parse_seconds(max_inactive),
        "deleteWhileInactive": switch(enable, disable),
    }


def auto_topic_creation(
    call: Call,
    *,
    enable: Enable = False,
    disable: Disable = False,
    kind: Annotated[
        str,
        typer.Option(
            "-t",
            "--type",
            metavar="TYPE",
            autocompletion=choice(*TOPIC_TYPES),
            help=f"Type of new topics: {', '.join(TOPIC_TYPES)}.",
        ),
    ] = "non-partitioned",
    partitions: Annotated[
        int | None,
        number("-n", "--num-partitions", "--partitions", help="Number of partitions of new partitioned topics."),
    ] = None,
) -> Document:
    """Set whether clients may create topics by using them, and of which type."""
    body = {
        "allowAutoTopicCreation": switch(enable, disable),
        "topicType": one_of(kind, TOPIC_TYPES, "type"),
        "defaultNumPartitions": partitions,
    }
    return {name: value for name, value in body.items() if value is not None}


def auto_subscription_creation(
    call: Call,
    *,
    enable: Enable = False,
    disable: Annotated[bool, typer.Option("-d", "--disable", help="Disable the feature (default).")] = False,
) -> Document:
    """Set whether clients may create subscriptions by subscribing."""
    if enable and disable:
        raise UsageProblem("specify --enable or --disable, and not both")
    return {"allowAutoSubscriptionCreation": enable}


def subscription_expiration_time(
    call: Call,
    *,
    time: Annotated[
        str,
        typer.Option(
            "-t", "--time", metavar="MINUTES", help="Number of minutes, or a duration such as 2h or 7d; 0 is never."
        ),
    ],
) -> int:
    """Delete subscriptions that have had no consumer for a time."""
    return int(time) if time.lstrip("-").isdecimal() else -(-parse_seconds(time) // 60)


INACTIVE_TOPIC = Policy(
    Heading.CREATION,
    "inactive-topic-policies",
    "inactiveTopicPolicies",
    inactive_topic_policies,
    "-e -t 1h -m delete_when_no_subscriptions",
    value=values.INACTIVE_TOPICS,
    document="inactive_topic_policies",
)
AUTO_SUBSCRIPTION_CREATION = Policy(
    Heading.CREATION,
    "auto-subscription-creation",
    "autoSubscriptionCreation",
    auto_subscription_creation,
    "--enable",
    value=values.AUTO_SUBSCRIPTION_CREATION,
    document="autoSubscriptionCreationOverride",
)

SUBSCRIPTION_EXPIRATION = Policy(
    Heading.CREATION,
    "subscription-expiration-time",
    "subscriptionExpirationTime",
    subscription_expiration_time,
    "-t 7d",
    value=values.MINUTES,
    document="subscription_expiration_time_minutes",
)

OF_NAMESPACES = (
    INACTIVE_TOPIC,
    Policy(
        Heading.CREATION,
        "auto-topic-creation",
        "autoTopicCreation",
        auto_topic_creation,
        "--enable -t partitioned -n 4",
        also=("topic-auto-creation",),
        value=values.AUTO_TOPIC_CREATION,
        document="autoTopicCreationOverride",
    ),
    AUTO_SUBSCRIPTION_CREATION,
    SUBSCRIPTION_EXPIRATION,
)
OF_TOPICS = (
    INACTIVE_TOPIC,
    AUTO_SUBSCRIPTION_CREATION,
    replace(SUBSCRIPTION_EXPIRATION, method="QUERY"),
)
