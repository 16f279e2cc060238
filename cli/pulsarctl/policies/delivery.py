"""The policies that say what producers may send and how it reaches consumers."""

from dataclasses import replace
from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.flags import Disable, Document, Enable, number, switch
from pulsarctl.policies.policy import Policy
from pulsarctl.shell.arguments import csv
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice, one_of
from pulsarctl.values.quantities import parse_duration


def deduplication(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Store a message only once when its producer sends it again."""
    return switch(enable, disable)


def deduplication_snapshot_interval(
    call: Call, *, interval: Annotated[int, number("-i", "--interval", help="Interval in seconds.")]
) -> int:
    """Set the interval between snapshots of the deduplication state."""
    return interval


def delayed_delivery(
    call: Call,
    *,
    enable: Enable = False,
    disable: Disable = False,
    time: Annotated[
        str, typer.Option("-t", "--time", metavar="DURATION", help="Tick time: accuracy of the delay.")
    ] = "1s",
    max_delay: Annotated[
        str,
        typer.Option("-md", "--maxDelay", "--max-delay", metavar="DURATION", help="Maximum delay; 0 means no limit."),
    ] = "0",
) -> Document:
    """Allow producers to delay the delivery of messages."""
    return {
        "tickTime": round(parse_duration(time) * 1000),
        "active": switch(enable, disable),
        "maxDeliveryDelayInMillis": round(parse_duration(max_delay) * 1000),
    }


def subscription_types_enabled(
    call: Call,
    *,
    types: Annotated[
        list[str],
        typer.Option(
            "-t",
            "--types",
            metavar="TYPE,...",
            autocompletion=choice(*values.SUBSCRIPTION_TYPES.choices),
            help=f"Comma-separated list of {', '.join(values.SUBSCRIPTION_TYPES.choices)}.",
        ),
    ],
) -> list[str]:
    """Set which subscription types are allowed."""
    return [one_of(name, values.SUBSCRIPTION_TYPES.choices, "type") for name in csv(types)]


def encryption_required(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Refuse producers that do not encrypt their messages."""
    return switch(enable, disable)


def entry_filters(
    call: Call,
    *,
    names: Annotated[
        str,
        typer.Option("-efn", "--entry-filters-name", metavar="NAME,...", help="Comma-separated names of the filters."),
    ],
) -> Document:
    """Run filters in the broker that decide which messages consumers get."""
    return {"entryFilterNames": ",".join(csv([names]))}


def dispatcher_pause(call: Call) -> bool:
    """Pause delivery while the acknowledgments of a subscription cannot be stored."""
    return True


def replication_clusters(
    call: Call,
    *,
    clusters: Annotated[
        list[str], typer.Option("-c", "--clusters", metavar="CLUSTER,...", help="Clusters to replicate to.")
    ],
) -> list[str]:
    """Set the clusters that a topic is replicated to."""
    return csv(clusters)


DISPATCHER_PAUSE = Policy(
    Heading.DELIVERY,
    "dispatcher-pause-on-ack-state-persistent",
    "dispatcherPauseOnAckStatePersistent",
    dispatcher_pause,
    "",
    value=values.SWITCH,
    document="dispatcherPauseOnAckStatePersistentEnabled",
    unset=False,
)
ENTRY_FILTERS = Policy(
    Heading.DELIVERY,
    "entry-filters",
    "entryFilters",
    entry_filters,
    "-efn filter",
    value=values.ENTRY_FILTERS,
    document="entryFilters",
)
DELAYED_DELIVERY = Policy(
    Heading.DELIVERY,
    "delayed-delivery",
    "delayedDelivery",
    delayed_delivery,
    "--enable -t 100ms",
    value=values.DELAYED_DELIVERY,
    document="delayed_delivery_policies",
)
SUBSCRIPTION_TYPES_ENABLED = Policy(
    Heading.DELIVERY,
    "subscription-types-enabled",
    "subscriptionTypesEnabled",
    subscription_types_enabled,
    "-t Shared,Failover",
    value=values.SUBSCRIPTION_TYPES,
    document="subscription_types_enabled",
    unset=[],
)

OF_NAMESPACES = (
    DISPATCHER_PAUSE,
    ENTRY_FILTERS,
    Policy(
        Heading.DELIVERY,
        "deduplication",
        "deduplication",
        deduplication,
        "--enable",
        value=values.SWITCH,
        document="deduplicationEnabled",
    ),
    Policy(
        Heading.DELIVERY,
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        deduplication_snapshot_interval,
        "-i 60",
        clear="null",
        value=values.SECONDS,
        document="deduplicationSnapshotIntervalSeconds",
    ),
    DELAYED_DELIVERY,
    SUBSCRIPTION_TYPES_ENABLED,
    Policy(
        Heading.DELIVERY,
        "encryption-required",
        "encryptionRequired",
        encryption_required,
        "--enable",
        clear="",
        value=values.SWITCH,
        document="encryption_required",
        unset=False,
    ),
)
OF_TOPICS = (
    DISPATCHER_PAUSE,
    replace(ENTRY_FILTERS, name="entry-filters-per-topic"),
    Policy(
        Heading.DELIVERY,
        "replication-clusters",
        "replication",
        replication_clusters,
        "-c standalone",
        value=values.NAMES,
    ),
    Policy(
        Heading.DELIVERY,
        "deduplication",
        "deduplicationEnabled",
        deduplication,
        "--enable",
        also=("deduplication-enabled",),
        value=values.SWITCH,
    ),
    Policy(
        Heading.DELIVERY,
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        deduplication_snapshot_interval,
        "-i 60",
        value=values.SECONDS,
    ),
    DELAYED_DELIVERY,
    SUBSCRIPTION_TYPES_ENABLED,
)
