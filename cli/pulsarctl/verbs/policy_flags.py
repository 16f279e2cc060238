"""Each policy's flags, and the JSON that they make, as pulsar-admin sends it.

One function a policy: its parameters are the flags of `set-<policy>`, what it returns is the body of the request,
its docstring the help. The spellings are pulsar-admin's first, then those of the Go tools.
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

Enable = Annotated[bool, typer.Option("-e", "--enable", help="Switch it on.")]
Disable = Annotated[bool, typer.Option("-d", "--disable", help="Switch it off.")]
QuotaType = Annotated[
    str,
    typer.Option(
        "-t", "--type", metavar="TYPE", help="destination_storage (the size counts) or message_age (the time counts)."
    ),
]


def _number(*spellings: str, help: str, metavar: str = "N") -> Any:
    return typer.Option(*spellings, metavar=metavar, help=help)


MsgRate = Annotated[int, _number("-md", "--msg-dispatch-rate", "--msg-rate", "-m", help="Messages; -1 no limit.")]
ByteRate = Annotated[int, _number("-bd", "--byte-dispatch-rate", "--byte-rate", "-b", help="Bytes; -1 no limit.")]
Period = Annotated[int, _number("-dt", "--dispatch-rate-period", "--period", "-p", help="Per so many seconds.")]
Relative = Annotated[bool, typer.Option("-rp", "--relative-to-publish-rate", help="On top of what is being published.")]


def _switch(enable: bool, disable: bool) -> bool:
    if enable == disable:
        raise UsageProblem("on or off?", hint="say --enable or --disable")
    return enable


def _one_of(value: str, choices: tuple[str, ...], what: str) -> str:
    if value not in choices:
        raise UsageProblem(f"there is no {what} '{value}'", hint=f"one of {', '.join(choices)}")
    return value


def message_ttl(
    call: Call,
    *,
    ttl: Annotated[
        str, typer.Option("-ttl", "--messageTTL", "-t", "--ttl", metavar="DURATION", help="Expire after; 0 is never.")
    ],
) -> int:
    """Expire messages that stay unacknowledged longer."""
    return parse_seconds(ttl)


def retention(
    call: Call,
    *,
    time: Annotated[
        str, typer.Option("-t", "--time", metavar="DURATION", help="How long; 0 none, -1 for ever. Whole minutes.")
    ],
    size: Annotated[
        str, typer.Option("-s", "--size", metavar="SIZE", help="How much; 0 none, -1 unlimited. Whole MiB.")
    ],
) -> Document:
    """Keep messages that every subscription has acknowledged."""
    seconds, size_bytes = parse_seconds(time), parse_size(size)
    minutes = -1 if seconds < 0 else seconds // 60
    megabytes = -1 if size_bytes < 0 else size_bytes // (1 << 20)
    if seconds > 0 and minutes == 0:
        call.notice(f"notice: a retention time of {time} is less than a minute and stored as 0")
    if size_bytes > 0 and megabytes == 0:
        call.notice(f"notice: a retention size of {size} is less than 1 MiB and stored as 0")
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}


def compaction_threshold(
    call: Call,
    *,
    threshold: Annotated[
        str, typer.Option("-t", "--threshold", "--size", metavar="SIZE", help="Compact beyond; 0 is never.")
    ],
) -> int:
    """Compact topics by themselves beyond this size."""
    return parse_size(threshold)


def backlog_quota(
    call: Call,
    *,
    policy: Annotated[
        str, typer.Option("-p", "--policy", metavar="POLICY", help="What happens then: " + ", ".join(QUOTA_POLICIES))
    ],
    limit: Annotated[
        str | None, typer.Option("-l", "--limit", "--limit-size", metavar="SIZE", help="Most that may wait.")
    ] = None,
    limit_time: Annotated[
        str | None, typer.Option("-lt", "--limitTime", "--limit-time", metavar="DURATION", help="Longest that it may.")
    ] = None,
    kind: QuotaType = "destination_storage",
) -> Document:
    """Limit how much, or how old, messages that wait for a subscription may become."""
    if kind == "destination_storage" and limit is None:
        raise UsageProblem("how much may wait?", hint="-l SIZE, or -t message_age with -lt DURATION")
    if kind == "message_age" and limit_time is None:
        raise UsageProblem("how long may a message wait?", hint="-lt DURATION")
    return {
        "limitSize": -1 if limit is None else parse_size(limit),
        "limitTime": -1 if limit_time is None else parse_seconds(limit_time),
        "policy": _one_of(policy, QUOTA_POLICIES, "policy"),
    }


def persistence(
    call: Call,
    *,
    ensemble: Annotated[
        int, _number("-e", "--bookkeeper-ensemble", "--ensemble-size", help="Machines that a ledger is spread over.")
    ] = 2,
    write_quorum: Annotated[
        int, _number("-w", "--bookkeeper-write-quorum", "--write-quorum-size", help="Copies of an entry.")
    ] = 2,
    ack_quorum: Annotated[
        int, _number("-a", "--bookkeeper-ack-quorum", "--ack-quorum-size", help="Copies that a receipt waits for.")
    ] = 2,
    rate: Annotated[
        float, _number("-r", "--ml-mark-delete-max-rate", help="Writes of a cursor a second; 0 is no limit.")
    ] = 0,
) -> Document:
    """Say how many copies of a message are kept, where there is more than one machine."""
    return {
        "bookkeeperEnsemble": ensemble,
        "bookkeeperWriteQuorum": write_quorum,
        "bookkeeperAckQuorum": ack_quorum,
        "managedLedgerMaxMarkDeleteRate": rate,
    }


def deduplication(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Store once what a producer sends twice."""
    return _switch(enable, disable)


def deduplication_snapshot_interval(
    call: Call, *, interval: Annotated[int, _number("-i", "--interval", help="Seconds.")]
) -> int:
    """Save what deduplication knows so often."""
    return interval


def delayed_delivery(
    call: Call,
    *,
    enable: Enable = False,
    disable: Disable = False,
    time: Annotated[str, typer.Option("-t", "--time", metavar="DURATION", help="How exactly it is kept.")] = "1s",
    max_delay: Annotated[
        str, typer.Option("-md", "--maxDelay", "--max-delay", metavar="DURATION", help="Longest delay; 0 is no limit.")
    ] = "0",
) -> Document:
    """Let messages ask to be delivered later."""
    return {
        "tickTime": round(parse_duration(time) * 1000),
        "active": _switch(enable, disable),
        "maxDeliveryDelayInMillis": round(parse_duration(max_delay) * 1000),
    }


def inactive_topic_policies(
    call: Call,
    *,
    max_inactive: Annotated[
        str, typer.Option("-t", "--max-inactive-duration", metavar="DURATION", help="How long a topic may go unused.")
    ],
    mode: Annotated[
        str, typer.Option("-m", "--delete-mode", metavar="MODE", help="What unused means: " + ", ".join(DELETE_MODES))
    ],
    enable: Annotated[bool, typer.Option("-e", "--enable-delete-while-inactive", help="Delete such topics.")] = False,
    disable: Annotated[bool, typer.Option("-d", "--disable-delete-while-inactive", help="Keep them.")] = False,
) -> Document:
    """Delete topics that nobody uses."""
    return {
        "inactiveTopicDeleteMode": _one_of(mode, DELETE_MODES, "mode"),
        "maxInactiveDurationSeconds": parse_seconds(max_inactive),
        "deleteWhileInactive": _switch(enable, disable),
    }


def dispatch_rate(
    call: Call, *, messages: MsgRate = -1, size: ByteRate = -1, period: Period = 1, relative: Relative = False
) -> Document:
    """Limit how fast messages go out."""
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": relative,
        "ratePeriodInSecond": period,
    }


def subscribe_rate(
    call: Call,
    *,
    rate: Annotated[int, _number("-sr", "--subscribe-rate", "-m", help="Times a consumer may subscribe.")] = -1,
    period: Annotated[int, _number("-st", "--subscribe-rate-period", "--period", "-p", help="Per so many s.")] = 30,
) -> Document:
    """Limit how often a consumer may subscribe."""
    return {"subscribeThrottlingRatePerConsumer": rate, "ratePeriodInSecond": period}


def publish_rate(
    call: Call,
    *,
    messages: Annotated[int, _number("-m", "--msg-publish-rate", "--msg-rate", help="Messages; -1 no limit.")] = -1,
    size: Annotated[int, _number("-b", "--byte-publish-rate", "--byte-rate", help="Bytes; -1 no limit.")] = -1,
) -> Document:
    """Limit how fast messages come in, per second."""
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": size}


def max_producers(
    call: Call,
    *,
    limit: Annotated[
        int, _number("-p", "--max-producers-per-topic", "--max-producers", "--size", help="0 is no limit.")
    ],
) -> int:
    """Limit how many producers a topic may have."""
    return limit


def max_consumers(
    call: Call,
    *,
    limit: Annotated[
        int, _number("-c", "--max-consumers-per-topic", "--max-consumers", "--size", help="0 is no limit.")
    ],
) -> int:
    """Limit how many consumers a topic may have."""
    return limit


def max_consumers_per_subscription(
    call: Call,
    *,
    limit: Annotated[int, _number("-c", "--max-consumers-per-subscription", "--size", help="0: no limit.")],
) -> int:
    """Limit how many consumers a subscription may have."""
    return limit


def max_subscriptions(
    call: Call, *, limit: Annotated[int, _number("-m", "--max-subscriptions-per-topic", "-s", help="0 is no limit.")]
) -> int:
    """Limit how many subscriptions a topic may have."""
    return limit


def max_topics(
    call: Call, *, limit: Annotated[int, _number("-t", "--max-topics-per-namespace", help="0 is no limit.")]
) -> int:
    """Limit how many topics there may be, each partition by itself."""
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
            help="0 is no limit.",
        ),
    ],
) -> int:
    """Limit how many messages a consumer may have unacknowledged."""
    return limit


def max_unacked_per_subscription(
    call: Call,
    *,
    limit: Annotated[
        int, _number("-c", "--max-unacked-messages-per-subscription", "-m", "--maxNum", help="0 is no limit.")
    ],
) -> int:
    """Limit how many messages of a subscription may be unacknowledged."""
    return limit


def max_message_size(
    call: Call, *, size: Annotated[str, typer.Option("-m", "--max-message-size", metavar="SIZE", help="The most.")]
) -> int:
    """Refuse larger messages."""
    return parse_size(size)


def subscription_types_enabled(
    call: Call,
    *,
    types: Annotated[
        list[str], typer.Option("-t", "--types", metavar="TYPES", help="With commas: " + ", ".join(SUBSCRIPTION_TYPES))
    ],
) -> list[str]:
    """Allow only some kinds of subscriptions."""
    return [_one_of(name, SUBSCRIPTION_TYPES, "type") for name in csv(types)]


def auto_topic_creation(
    call: Call,
    *,
    enable: Enable = False,
    disable: Disable = False,
    kind: Annotated[
        str, typer.Option("-t", "--type", metavar="TYPE", help="Of new topics: " + ", ".join(TOPIC_TYPES))
    ] = "non-partitioned",
    partitions: Annotated[
        int | None, _number("-n", "--num-partitions", "--partitions", help="Partitions of a new partitioned topic.")
    ] = None,
) -> Document:
    """Say whether use creates a missing topic, and of which kind."""
    body = {
        "allowAutoTopicCreation": _switch(enable, disable),
        "topicType": _one_of(kind, TOPIC_TYPES, "type"),
        "defaultNumPartitions": partitions,
    }
    return {name: value for name, value in body.items() if value is not None}


def auto_subscription_creation(
    call: Call,
    *,
    enable: Enable = False,
    disable: Annotated[bool, typer.Option("-d", "--disable", help="Refuse; the default.")] = False,
) -> Document:
    """Say whether subscribing creates a missing subscription."""
    if enable and disable:
        raise UsageProblem("on or off?", hint="say --enable or --disable")
    return {"allowAutoSubscriptionCreation": enable}


def encryption_required(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Refuse producers that do not encrypt."""
    return _switch(enable, disable)


def subscription_expiration_time(
    call: Call,
    *,
    time: Annotated[
        str,
        typer.Option("-t", "--time", metavar="MINUTES", help="Minutes, or 30m, 2h, 7d, in whole minutes; 0 is never."),
    ],
) -> int:
    """Delete subscriptions that have had no consumer for so long."""
    return int(time) if time.lstrip("-").isdecimal() else -(-parse_seconds(time) // 60)
