"""The verbs of scalable topics that are one request."""

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.auto_scale import auto_scale_requests
from pulsarctl.requests.fields import NAMESPACE
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.arguments import pairs
from pulsarctl.values.choice import one_of
from pulsarctl.values.names import SCALABLE, full_topic

ROOT = "scalable"
OF = f"{ROOT}/{{scalable_topic}}"
TYPES = ("STREAM", "QUEUE")
NAMES = "as TOPIC, TENANT/NAMESPACE/TOPIC, or a topic:// URL."
TOPIC = Field("scalable_topic", f"Name of the scalable topic, {NAMES}", metavar="SCALABLE-TOPIC")
# The broker decodes these names once, unlike those of subscriptions of other topics.
SUBSCRIPTION = Field("name", "Name of the subscription.", ("-s", "--subscription"), "SUBSCRIPTION")
OF_SUBSCRIPTION = f"{OF}/subscriptions/{{name}}"
SEGMENT = Field("segment", "ID of the segment.", ("-s", "--segment-id"), "N", kind=int)


def _force(help: str, *spellings: str) -> Field:
    return Field("force", help, spellings, "", In.QUERY, bool, False)


def _filters(texts: list[str]) -> list[str]:
    """Raises `UsageProblem`."""
    return [f"{key}={value}" for key, value in pairs(texts).items()]


def _type(text: str) -> str:
    return one_of(text, TYPES, "type")


def _persistent(topic: str) -> str:
    """The regular topic to migrate, for a path without a domain. Raises `UsageProblem`."""
    domain, _, rest = full_topic(topic.replace(f"{SCALABLE}://", "persistent://", 1)).partition("://")
    if domain != "persistent":
        raise UsageProblem(f"'{topic}' is not a persistent topic, and only these can become scalable")
    return f"{SCALABLE}://{rest}"


ROWS = (
    Request(
        "list",
        "GET",
        f"{ROOT}/{{namespace}}",
        "List the scalable topics of a namespace.",
        "public/default",
        (
            NAMESPACE,
            Field(
                "properties",
                "Property that the topics must have; may be repeated.",
                ("-p", "--property"),
                "KEY=VALUE",
                In.QUERY,
                list[str],
                None,
                "property",
                read=_filters,
            ),
        ),
        Shown.NAMES,
        column="TOPIC",
    ),
    Request(
        "get-metadata",
        "GET",
        OF,
        "Show the segments of a scalable topic, its properties, and its auto-scale policy.",
        "orders",
        (TOPIC,),
        Shown.VALUE,
    ),
    Request(
        "stats",
        "GET",
        f"{OF}/stats",
        "Show the statistics of a scalable topic, of its segments, and of its subscriptions.",
        "orders",
        (TOPIC,),
        Shown.VALUE,
    ),
    Request(
        "segment-stats",
        "GET",
        f"{OF}/segments/{{segment}}/stats",
        "Show the statistics of a segment.\n\nPulsar's milestones before 5.0.0 have none.",
        "orders 0",
        (TOPIC, Field("segment", "ID of the segment.", metavar="N", kind=int)),
        Shown.VALUE,
    ),
    Request(
        "delete",
        "DELETE",
        OF,
        "Delete a scalable topic and its segments.\n\nA topic that is in use is deleted only with --force.",
        "orders",
        (TOPIC, _force("Delete even if in use.", "-f", "--force")),
        question="Delete {scalable_topic}?",
    ),
    Request(
        "split-segment",
        "POST",
        f"{OF}/split/{{segment}}",
        "Split an active segment into two, each with half of its keys.",
        "orders -s 0",
        (TOPIC, SEGMENT),
    ),
    Request(
        "merge-segments",
        "POST",
        f"{OF}/merge/{{first}}/{{second}}",
        "Merge two active segments whose keys are adjacent.",
        "orders --segment-id-1 1 --segment-id-2 2",
        (
            TOPIC,
            Field("first", "ID of one segment.", ("--segment-id-1",), "N", kind=int),
            Field("second", "ID of the other segment.", ("--segment-id-2",), "N", kind=int),
        ),
    ),
    Request(
        "rebucket-segment",
        "POST",
        f"{OF}/rebucket/{{segment}}",
        "Replace an active segment by one with another number of entry buckets, by which consumers share it.\n\n"
        "Pulsar's milestones before 5.0.0 have no buckets.",
        "orders -s 0 -b 4",
        (
            TOPIC,
            SEGMENT,
            Field("buckets", "Number of buckets.", ("-b", "--bucket-count"), "N", In.QUERY, int, key="bucketCount"),
        ),
    ),
    Request(
        "migrate",
        "POST",
        f"{OF}/migrate",
        "Make a scalable topic of a regular one, partitioned or not.\n\n"
        "This cannot be undone. Consumers get the old messages first. A topic with producers or consumers that do not"
        " know scalable topics is migrated only with --force: its producers fail then.",
        "orders",
        (
            Field("scalable_topic", "Name of the regular topic.", metavar="TOPIC", read=_persistent),
            _force("Migrate in spite of clients that do not know scalable topics.", "--force"),
        ),
        question="Make a scalable topic of {scalable_topic}? This cannot be undone.",
    ),
    Request(
        "create-subscription",
        "PUT",
        OF_SUBSCRIPTION,
        "Create a subscription that gets all messages of the active segments.",
        "orders -s billing --type QUEUE",
        (
            TOPIC,
            SUBSCRIPTION,
            Field(
                "type",
                "Type of the subscription: STREAM for ordered consumers, QUEUE for those without an order.",
                ("-t", "--type"),
                "TYPE",
                In.QUERY,
                str,
                "STREAM",
                read=_type,
                words=TYPES,
            ),
        ),
    ),
    Request(
        "delete-subscription",
        "DELETE",
        OF_SUBSCRIPTION,
        "Delete a subscription of a scalable topic, also while it has consumers.",
        "orders -s billing",
        (TOPIC, SUBSCRIPTION),
        question="Delete subscription {name} of {scalable_topic}?",
    ),
    Request(
        "clear-backlog",
        "POST",
        f"{OF_SUBSCRIPTION}/skip-all",
        "Acknowledge all messages of a subscription, in all segments.",
        "orders -s billing",
        (TOPIC, SUBSCRIPTION),
        also=("skip-all",),
        question="Clear the backlog of {name} in {scalable_topic}?",
    ),
    *auto_scale_requests("topic", "auto-scale-policy", f"{OF}/autoScalePolicy", TOPIC, "orders"),
)
