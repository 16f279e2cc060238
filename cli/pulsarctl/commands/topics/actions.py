"""Verbs of topics that are more than one request, or one that depends on the topic."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulsarctl.commands.topics.offload_start import first_within
from pulsarctl.output.render import Table
from pulsarctl.requests.fields import SUBSCRIPTION, TOPIC
from pulsarctl.requests.request import Act, Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import TIME, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.targets import cursors
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.values.names import partition_name
from pulsarctl.values.quantities import parse_size

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

FORCE = Field("force", "Delete even if in use.", ("-f", "--force"), "", In.NOWHERE, bool, False)


def _terminate(values: Values) -> Act:
    partition = values["partition"]

    def act(admin: "AdminClient", topic: str) -> Any:
        if partition < 0 and admin.topics.partitions(topic):
            return admin.topics.terminate_partitions(topic)
        return admin.topics.terminate(partition_name(topic, partition) if partition >= 0 else topic)

    return act


def _show_ends(call: Call, values: Values, results: Mapping[str, Any]) -> None:
    """The last message ID of a topic, or of each of its partitions."""
    if len(results) > 1:
        call.show(dict(results), as_map=True)
        return
    for ends in results.values():
        if ends and "ledgerId" not in ends:
            rows = [(number, f"{end['ledgerId']}:{end['entryId']}") for number, end in ends.items()]
            call.show(ends, Table(("PARTITION", "LAST MESSAGE ID"), rows))
        else:
            call.show(ends)


def _create_subscription(values: Values) -> Act:
    position, properties = parse_message_id(values["message_id"]), pairs(values["properties"])

    def act(admin: "AdminClient", topic: str) -> None:
        admin.topics.create_subscription(
            topic, values["subscription"], position, replicated=values["replicated"] or None, properties=properties
        )

    return act


def _reset(values: Values) -> Act:
    return cursors.resetting(values["subscription"], values["time"], values["message_id"], values["excluded"])


def _show_time(call: Call, values: Values, results: Mapping[str, Any]) -> None:
    topic, time_ms = next(iter(results.items()), ("", None))
    if time_ms is not None:
        topics = topic if len(results) == 1 else f"{len(results):,} topics"
        call.notice_time(f"subscription {values['subscription']} of {topics} moved to", time_ms)


def _offload(values: Values) -> Act:
    threshold = parse_size(values["threshold"])

    def act(admin: "AdminClient", topic: str) -> Any:
        results = {part: _offloaded(admin, part, threshold) for part in admin.topics.parts(topic)}
        return results if len(results) > 1 else "".join(results.values())

    return act


def _offloaded(admin: "AdminClient", topic: str, threshold: int) -> str:
    """Starts the offload of a topic without partitions, or of one partition."""
    stats = admin.topics.internal_stats(topic)
    ledgers = stats.get("ledgers") or []
    if not ledgers:
        return "Topic doesn't have any data"
    before = first_within(ledgers, int(stats.get("currentLedgerSize", 0)), threshold)
    if before is None:
        return "Nothing to offload"
    admin.topics.offload(topic, before)
    return f"Offload triggered for {topic} for messages before {before.ledger_id}:{before.entry_id}:-1"


ROWS = (
    Request(
        "terminate",
        "POST",
        "",
        "Terminate topics, so that they accept no more messages, and show their last message IDs.\n\nTheir messages"
        " stay readable. This cannot be undone. A partitioned topic is terminated with all its partitions.",
        "orders",
        (
            TOPIC,
            Field("partition", "Terminate one partition only.", ("-p", "--partition"), "N", In.NOWHERE, int, -1),
        ),
        heading=Heading.LIFECYCLE,
        question="Terminate {topic}? No messages are accepted afterwards.",
        act=_terminate,
        show=_show_ends,
    ),
    Request(
        "partitioned-terminate",
        "POST",
        "",
        "Terminate every partition of topics and show their last message IDs.",
        "orders",
        (TOPIC,),
        heading=Heading.PARTITIONS,
        question="Terminate {topic} and all partitions? No messages are accepted afterwards.",
        doing="terminate",
        act=lambda values: lambda admin, topic: admin.topics.terminate_partitions(topic),
        show=_show_ends,
    ),
    Request(
        "delete-partitioned-topic",
        "DELETE",
        "",
        "Delete partitioned topics and their partitions.",
        "orders",
        (TOPIC, FORCE, Field("schema", "", ("-d", "--deleteSchema"), "", In.NOWHERE, bool, False, hidden=True)),
        also=("delete-partitioned",),
        heading=Heading.PARTITIONS,
        question="Delete {topic} and all partitions?",
        doing="delete",
        act=lambda values: lambda admin, topic: admin.topics.delete_partitioned(topic, force=values["force"]),
    ),
    Request(
        "create-missed-partitions",
        "POST",
        "",
        "Create the missing partitions of partitioned topics.",
        "orders",
        (TOPIC,),
        heading=Heading.PARTITIONS,
        doing="create the missing partitions of",
        act=lambda values: lambda admin, topic: admin.topics.create_missed_partitions(topic),
    ),
    Request(
        "create-subscription",
        "PUT",
        "",
        "Create a subscription on topics.\n\nFails with exit code 6 if the subscription exists.",
        "orders -s billing -m earliest",
        (
            TOPIC,
            SUBSCRIPTION,
            Field(
                "message_id",
                "Start of the subscription: earliest, latest, or a message ID.",
                ("-m", "--messageId"),
                "ID",
                In.NOWHERE,
                str,
                "latest",
            ),
            Field(
                "replicated",
                "Replicate the subscription to all clusters.",
                ("-r", "--replicated"),
                "",
                In.NOWHERE,
                bool,
                False,
            ),
            Field(
                "properties",
                "Property to set; may be repeated.",
                ("-p", "--property"),
                "KEY=VALUE",
                In.NOWHERE,
                list[str],
                None,
            ),
        ),
        heading=Heading.SUBSCRIPTIONS,
        doing="create the subscription of",
        act=_create_subscription,
    ),
    Request(
        "skip",
        "POST",
        "",
        "Acknowledge the next messages of a subscription of topics.",
        "orders -s billing -n 10",
        (TOPIC, SUBSCRIPTION, Field("count", "Number of messages.", ("-n", "--count"), "", In.NOWHERE, int)),
        heading=Heading.SUBSCRIPTIONS,
        several="Skip {count} messages of {subscription} in {topic}?",
        doing="skip messages of",
        act=lambda values: lambda admin, topic: admin.topics.skip(topic, values["subscription"], values["count"]),
    ),
    Request(
        "reset-cursor",
        "POST",
        "",
        "Move a subscription of topics to a time or a message.\n\nLater messages are delivered again.",
        "orders -s billing -t 1h",
        (
            TOPIC,
            SUBSCRIPTION,
            Field("time", TIME, ("-t", "--time"), "TIME", In.NOWHERE, str, None),
            Field(
                "message_id",
                "Message to start at: earliest, latest, or LEDGER:ENTRY.",
                ("-m", "--messageId"),
                "ID",
                In.NOWHERE,
                str,
                None,
            ),
            Field(
                "excluded",
                "Start after the message of -m.",
                ("-e", "--exclude-reset-position"),
                "",
                In.NOWHERE,
                bool,
                False,
            ),
        ),
        heading=Heading.SUBSCRIPTIONS,
        several="Move {subscription} of {topic}?",
        doing="reset the cursor of",
        act=_reset,
        show=_show_time,
    ),
    Request(
        "offload",
        "PUT",
        "",
        "Copy the older ledgers of topics to tiered storage.\n\nLedgers are copied as a whole, in the background, up to"
        " the first one within the threshold. 'topics offload-status' shows the progress. The store comes from the"
        " broker's configuration or from offload policies. Each partition is offloaded by its own size.",
        "orders --size-threshold 1G",
        (
            TOPIC,
            Field(
                "threshold",
                "Size of the newest messages that stay local, such as 10G.",
                ("-s", "--size-threshold"),
                "SIZE",
                In.NOWHERE,
            ),
        ),
        Shown.VALUE,
        heading=Heading.TIERED,
        act=_offload,
    ),
)
