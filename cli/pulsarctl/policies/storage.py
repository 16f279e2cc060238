"""The policies that say what a topic keeps and for how long."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.policies import values
from pulsarctl.policies.flags import Document, number
from pulsarctl.policies.policy import Policy, PolicySelector
from pulsarctl.policies.values import QUOTA_POLICIES, QUOTA_TYPES
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice, one_of
from pulsarctl.values.quantities import parse_seconds, parse_size

QuotaType = Annotated[
    str,
    typer.Option(
        "-t",
        "--type",
        metavar="TYPE",
        autocompletion=choice("destination_storage", "message_age"),
        help="Kind of quota: destination_storage (size) or message_age (time).",
    ),
]


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
        typer.Option(
            "-t", "--time", metavar="DURATION", help="Time in whole minutes; 0 keeps none, -1 means no limit."
        ),
    ],
    size: Annotated[
        str, typer.Option("-s", "--size", metavar="SIZE", help="Size in whole MiB; 0 keeps none, -1 means no limit.")
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
        typer.Option(
            "-p",
            "--policy",
            metavar="POLICY",
            autocompletion=choice(*QUOTA_POLICIES),
            help=f"Action above the quota: {', '.join(QUOTA_POLICIES)}.",
        ),
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
    kind = one_of(kind, QUOTA_TYPES, "type of quota")
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
        int, number("-e", "--bookkeeper-ensemble", "--ensemble-size", help="Number of bookies that store a ledger.")
    ] = 2,
    write_quorum: Annotated[
        int, number("-w", "--bookkeeper-write-quorum", "--write-quorum-size", help="Number of copies of each entry.")
    ] = 2,
    ack_quorum: Annotated[
        int,
        number(
            "-a",
            "--bookkeeper-ack-quorum",
            "--ack-quorum-size",
            help="Number of copies to confirm before acknowledging.",
        ),
    ] = 2,
    rate: Annotated[
        float, number("-r", "--ml-mark-delete-max-rate", help="Cursor updates per second; 0 means no limit.")
    ] = 0,
) -> Document:
    """Set how many copies of each entry BookKeeper keeps."""
    return {
        "bookkeeperEnsemble": ensemble,
        "bookkeeperWriteQuorum": write_quorum,
        "bookkeeperAckQuorum": ack_quorum,
        "managedLedgerMaxMarkDeleteRate": rate,
    }


OF_ONE_TYPE = PolicySelector(
    "kind",
    QuotaType,
    "destination_storage",
    lambda path, kind: (path, {"backlogQuotaType": one_of(kind, QUOTA_TYPES, "type of quota")}),
    reads=False,
)


RETENTION = Policy(
    Heading.STORAGE,
    "retention",
    "retention",
    retention,
    "-t 1d -s 10G",
    value=values.RETENTION,
    document="retention_policies",
)
BACKLOG_QUOTA = Policy(
    Heading.STORAGE,
    "backlog-quota",
    "backlogQuota",
    backlog_quota,
    "-l 5G -p producer_request_hold",
    also=("backlog-quotas",),
    choice=OF_ONE_TYPE,
    getter="backlog-quotas",
    read="backlogQuotaMap",
    value=values.BACKLOG_QUOTA,
    document="backlog_quota_map",
)
PERSISTENCE = Policy(
    Heading.STORAGE,
    "persistence",
    "persistence",
    persistence,
    "-e 2 -w 2 -a 2",
    value=values.PERSISTENCE,
    document="persistence",
)

OF_NAMESPACES = (
    Policy(
        Heading.STORAGE,
        "message-ttl",
        "messageTTL",
        message_ttl,
        "-ttl 2h",
        value=values.SECONDS,
        document="message_ttl_in_seconds",
    ),
    RETENTION,
    Policy(
        Heading.STORAGE,
        "compaction-threshold",
        "compactionThreshold",
        compaction_threshold,
        "-t 100M",
        method="PUT",
        value=values.SIZE,
        document="compaction_threshold",
    ),
    BACKLOG_QUOTA,
    PERSISTENCE,
)
OF_TOPICS = (
    Policy(Heading.STORAGE, "message-ttl", "messageTTL", message_ttl, "-t 2h", method="QUERY", value=values.SECONDS),
    RETENTION,
    Policy(
        Heading.STORAGE,
        "compaction-threshold",
        "compactionThreshold",
        compaction_threshold,
        "-t 100M",
        value=values.SIZE,
    ),
    BACKLOG_QUOTA,
    PERSISTENCE,
)
