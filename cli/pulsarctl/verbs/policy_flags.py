"""Each policy's flags and the JSON they make, as pulsar-admin sends it.

Each policy has one function. Its parameters are the flags of `set-<policy>`, its result is the body of the request, and
its docstring is the help. The spellings are pulsar-admin's first, then those of the Go tools.
"""

from typing import Annotated, Any

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import csv
from pulsarctl.shell.call import Call
from pulsarctl.values.quantities import parse_duration, parse_seconds, parse_size

Document = dict[str, Any]

QUOTA_POLICIES = ("producer_request_hold", "producer_exception", "consumer_backlog_eviction")
DELETE_MODES = ("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up")
SUBSCRIPTION_TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
TOPIC_TYPES = ("non-partitioned", "partitioned")

Enable = Annotated[bool, typer.Option("-e", "--enable", help="Enable it.")]
Disable = Annotated[bool, typer.Option("-d", "--disable", help="Disable it.")]
QuotaType = Annotated[
    str,
    typer.Option(
        "-t", "--type", metavar="TYPE", help="Kind of quota: destination_storage (size) or message_age (time)."
    ),
]


def _number(*spellings: str, help: str, metavar: str = "N") -> Any:
    return typer.Option(*spellings, metavar=metavar, help=help)


MsgRate = Annotated[
    int, _number("-md", "--msg-dispatch-rate", "--msg-rate", "-m", help="Messages per period; -1 is no limit.")
]
ByteRate = Annotated[
    int, _number("-bd", "--byte-dispatch-rate", "--byte-rate", "-b", help="Bytes per period; -1 is no limit.")
]
Period = Annotated[
    int, _number("-dt", "--dispatch-rate-period", "--period", "-p", help="Length of the period in seconds.")
]
Relative = Annotated[
    bool, typer.Option("-rp", "--relative-to-publish-rate", help="Add the current publish rate to the limit.")
]


def switch(enable: bool, disable: bool) -> bool:
    """True or false. Raises `UsageProblem` unless exactly one is given."""
    if enable == disable:
        raise UsageProblem("specify --enable or --disable, and not both")
    return enable


def one_of(value: str, choices: tuple[str, ...], what: str) -> str:
    """`value`. Raises `UsageProblem` if it is not one of `choices`."""
    if value not in choices:
        raise UsageProblem(f"unknown {what} '{value}'", hint=f"use one of {', '.join(choices)}")
    return value


def message_ttl(
    call: Call,
    *,
    ttl: Annotated[
        str,
        typer.Option("-ttl", "--messageTTL", "-t", "--ttl", metavar="DURATION", help="Time to live; 0 is no expiry."),
    ],
) -> int:
    """Expire messages that stay unacknowledged for longer than a time."""
    return parse_seconds(ttl)


def retention(
    call: Call,
    *,
    time: Annotated[
        str,
        typer.Option("-t", "--time", metavar="DURATION", help="Time in whole minutes; 0 keeps none, -1 is no limit."),
    ],
    size: Annotated[
        str, typer.Option("-s", "--size", metavar="SIZE", help="Size in whole MiB; 0 keeps none, -1 is no limit.")
    ],
) -> Document:
    """Keep acknowledged messages up to a time and a size."""
    seconds, size_bytes = parse_seconds(time), parse_size(size)
    minutes = -1 if seconds < 0 else seconds // 60
    megabytes = -1 if size_bytes < 0 else size_bytes // (1 << 20)
    if seconds > 0 and minutes == 0:
        call.notice(f"notice: the retention time {time} is less than a minute and is stored as 0")
    if size_bytes > 0 and megabytes == 0:
        call.notice(f"notice: the retention size {size} is less than 1 MiB and is stored as 0")
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}


def compaction_threshold(
    call: Call,
    *,
    threshold: Annotated[
        str,
        typer.Option(
            "-t", "--threshold", "--size", metavar="SIZE", help="Backlog that starts a compaction; 0 is never."
        ),
    ],
) -> int:
    """Compact topics automatically when their uncompacted backlog exceeds a size."""
    return parse_size(threshold)


def backlog_quota(
    call: Call,
    *,
    policy: Annotated[
        str,
        typer.Option("-p", "--policy", metavar="POLICY", help=f"Action above the quota: {', '.join(QUOTA_POLICIES)}."),
    ],
    limit: Annotated[
        str | None, typer.Option("-l", "--limit", "--limit-size", metavar="SIZE", help="Maximum backlog size.")
    ] = None,
    limit_time: Annotated[
        str | None,
        typer.Option("-lt", "--limitTime", "--limit-time", metavar="DURATION", help="Maximum age of the backlog."),
    ] = None,
    kind: QuotaType = "destination_storage",
) -> Document:
    """Limit the size or the age of the backlog of each subscription."""
    if kind == "destination_storage" and limit is None:
        raise UsageProblem("specify the maximum size", hint="use -l SIZE, or -t message_age with -lt DURATION")
    if kind == "message_age" and limit_time is None:
        raise UsageProblem("specify the maximum age", hint="use -lt DURATION")
    return {
        "limitSize": -1 if limit is None else parse_size(limit),
        "limitTime": -1 if limit_time is None else parse_seconds(limit_time),
        "policy": one_of(policy, QUOTA_POLICIES, "policy"),
    }


def persistence(
    call: Call,
    *,
    ensemble: Annotated[
        int, _number("-e", "--bookkeeper-ensemble", "--ensemble-size", help="Number of bookies that store a ledger.")
    ] = 2,
    write_quorum: Annotated[
        int, _number("-w", "--bookkeeper-write-quorum", "--write-quorum-size", help="Number of copies of each entry.")
    ] = 2,
    ack_quorum: Annotated[
        int,
        _number(
            "-a",
            "--bookkeeper-ack-quorum",
            "--ack-quorum-size",
            help="Number of copies to confirm before acknowledging.",
        ),
    ] = 2,
    rate: Annotated[
        float, _number("-r", "--ml-mark-delete-max-rate", help="Cursor updates per second; 0 is no limit.")
    ] = 0,
) -> Document:
    """Set how many copies of each entry BookKeeper keeps."""
    return {
        "bookkeeperEnsemble": ensemble,
        "bookkeeperWriteQuorum": write_quorum,
        "bookkeeperAckQuorum": ack_quorum,
        "managedLedgerMaxMarkDeleteRate": rate,
    }


def deduplication(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Store a message only once when its producer sends it again."""
    return switch(enable, disable)


def deduplication_snapshot_interval(
    call: Call, *, interval: Annotated[int, _number("-i", "--interval", help="Interval in seconds.")]
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
        str, typer.Option("-md", "--maxDelay", "--max-delay", metavar="DURATION", help="Maximum delay; 0 is no limit.")
    ] = "0",
) -> Document:
    """Allow producers to delay the delivery of messages."""
    return {
        "tickTime": round(parse_duration(time) * 1000),
        "active": switch(enable, disable),
        "maxDeliveryDelayInMillis": round(parse_duration(max_delay) * 1000),
    }


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
        typer.Option("-m", "--delete-mode", metavar="MODE", help=f"What counts as unused: {', '.join(DELETE_MODES)}."),
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


def dispatch_rate(
    call: Call, *, messages: MsgRate = -1, size: ByteRate = -1, period: Period = 1, relative: Relative = False
) -> Document:
    """Limit the rate of delivery to consumers."""
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": relative,
        "ratePeriodInSecond": period,
    }


def subscribe_rate(
    call: Call,
    *,
    rate: Annotated[
        int, _number("-sr", "--subscribe-rate", "-m", help="Number of subscribe requests; -1 is no limit.")
    ] = -1,
    period: Annotated[
        int, _number("-st", "--subscribe-rate-period", "--period", "-p", help="Length of the period in seconds.")
    ] = 30,
) -> Document:
    """Limit how often each consumer may subscribe."""
    return {"subscribeThrottlingRatePerConsumer": rate, "ratePeriodInSecond": period}


def publish_rate(
    call: Call,
    *,
    messages: Annotated[
        int, _number("-m", "--msg-publish-rate", "--msg-rate", help="Messages per second; -1 is no limit.")
    ] = -1,
    size: Annotated[
        int, _number("-b", "--byte-publish-rate", "--byte-rate", help="Bytes per second; -1 is no limit.")
    ] = -1,
) -> Document:
    """Limit the rate of publishing to each topic."""
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": size}


def max_producers(
    call: Call,
    *,
    limit: Annotated[
        int,
        _number("-p", "--max-producers-per-topic", "--max-producers", "--size", help="Maximum number; 0 is no limit."),
    ],
) -> int:
    """Limit the number of producers of each topic."""
    return limit


def max_consumers(
    call: Call,
    *,
    limit: Annotated[
        int,
        _number("-c", "--max-consumers-per-topic", "--max-consumers", "--size", help="Maximum number; 0 is no limit."),
    ],
) -> int:
    """Limit the number of consumers of each topic."""
    return limit


def max_consumers_per_subscription(
    call: Call,
    *,
    limit: Annotated[
        int, _number("-c", "--max-consumers-per-subscription", "--size", help="Maximum number; 0 is no limit.")
    ],
) -> int:
    """Limit the number of consumers of each subscription."""
    return limit


def max_subscriptions(
    call: Call,
    *,
    limit: Annotated[int, _number("-m", "--max-subscriptions-per-topic", "-s", help="Maximum number; 0 is no limit.")],
) -> int:
    """Limit the number of subscriptions of each topic."""
    return limit


def max_topics(
    call: Call,
    *,
    limit: Annotated[int, _number("-t", "--max-topics-per-namespace", help="Maximum number; 0 is no limit.")],
) -> int:
    """Limit the number of topics, counting each partition."""
    return limit


def max_unacked_per_consumer(
    call: Call,
    *,
    limit: Annotated[
        int,
        _number(
            "-c",
            "--max-unacked-messages-per-consumer",
            "--max-unacked-messages-per-topic",
            "-m",
            "--maxNum",
            help="Maximum number; 0 is no limit.",
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
        _number(
            "-c", "--max-unacked-messages-per-subscription", "-m", "--maxNum", help="Maximum number; 0 is no limit."
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


def subscription_types_enabled(
    call: Call,
    *,
    types: Annotated[
        list[str],
        typer.Option(
            "-t", "--types", metavar="TYPES", help=f"Comma-separated list of {', '.join(SUBSCRIPTION_TYPES)}."
        ),
    ],
) -> list[str]:
    """Set which subscription types are allowed."""
    return [one_of(name, SUBSCRIPTION_TYPES, "type") for name in csv(types)]


def auto_topic_creation(
    call: Call,
    *,
    enable: Enable = False,
    disable: Disable = False,
    kind: Annotated[
        str, typer.Option("-t", "--type", metavar="TYPE", help=f"Type of new topics: {', '.join(TOPIC_TYPES)}.")
    ] = "non-partitioned",
    partitions: Annotated[
        int | None,
        _number("-n", "--num-partitions", "--partitions", help="Number of partitions of new partitioned topics."),
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
    disable: Annotated[bool, typer.Option("-d", "--disable", help="Disable it (default).")] = False,
) -> Document:
    """Set whether clients may create subscriptions by subscribing."""
    if enable and disable:
        raise UsageProblem("specify --enable or --disable, and not both")
    return {"allowAutoSubscriptionCreation": enable}


def encryption_required(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Refuse producers that do not encrypt their messages."""
    return switch(enable, disable)


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
