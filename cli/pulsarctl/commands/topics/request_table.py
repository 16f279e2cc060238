"""The verbs of topics that are one request and no policy with flags of its own."""

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.fields import ACTIONS_GIVEN, ROLE, SUBSCRIPTION, TOPIC, names
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import full_topic

_OF = "{topic}"
_SUBSCRIPTION = f"{_OF}/subscription/{{subscription}}"
SHADOW_SOURCE = "PULSAR.SHADOW_SOURCE"  # the property that makes a topic a shadow topic


def _full_topics(texts: list[str]) -> list[str]:
    return [full_topic(name) for name in csv(texts)]


def _enabled(values: Values) -> bool:
    if values["enable"] == values["disable"]:
        raise UsageProblem("specify --enable or --disable, and not both")
    return bool(values["enable"])


def _shadow_properties(values: Values) -> dict[str, str]:
    return {**pairs(csv(values["properties"])), SHADOW_SOURCE: full_topic(values["source"])}


def _on(values: Values) -> bool:
    return True


def _off(values: Values) -> bool:
    return False


_SWITCHES = (
    Field("enable", "Replicate the subscription.", ("-e", "--enable"), "", In.NOWHERE, bool, False),
    Field("disable", "Do not replicate the subscription.", ("-d", "--disable"), "", In.NOWHERE, bool, False),
)

ROWS = (
    Request(
        "grant-permission",
        "POST",
        f"{_OF}/permissions/{{role}}",
        "Allow a role to act on a topic.",
        "orders --role app --actions produce,consume",
        (TOPIC, ROLE, ACTIONS_GIVEN),
        also=("grant-permissions", "grant"),
        heading=Heading.PROPERTIES,
    ),
    Request(
        "revoke-permission",
        "DELETE",
        f"{_OF}/permissions/{{role}}",
        "Revoke the permissions of a role on a topic.",
        "orders --role app",
        (TOPIC, ROLE),
        also=("revoke-permissions", "revoke"),
        heading=Heading.PROPERTIES,
    ),
    Request(
        "truncate",
        "DELETE",
        f"{_OF}/truncate",
        "Acknowledge all messages of a topic and delete its data.",
        "orders --yes",
        (TOPIC,),
        heading=Heading.LIFECYCLE,
        question="Delete all messages of {topic}?",
    ),
    Request(
        "get-replicated-subscription-status",
        "GET",
        f"{_SUBSCRIPTION}/replicatedSubscriptionStatus",
        "Show whether a subscription is replicated to other clusters.",
        "orders -s billing",
        (TOPIC, SUBSCRIPTION),
        Shown.MAP,
        heading=Heading.SUBSCRIPTIONS,
    ),
    Request(
        "set-replicated-subscription-status",
        "POST",
        f"{_SUBSCRIPTION}/replicatedSubscriptionStatus",
        "Start or stop the replication of a subscription to other clusters.",
        "orders -s billing --enable",
        (TOPIC, SUBSCRIPTION, *_SWITCHES),
        heading=Heading.SUBSCRIPTIONS,
        body=_enabled,
    ),
    Request(
        "get-shadow-topics",
        "GET",
        f"{_OF}/shadowTopics",
        "List the shadow topics of a topic.",
        "orders",
        (TOPIC,),
        Shown.NAMES,
        heading=Heading.PROPERTIES,
        column="TOPIC",
    ),
    Request(
        "set-shadow-topics",
        "PUT",
        f"{_OF}/shadowTopics",
        "Set the shadow topics of a topic.",
        "orders -t orders-shadow",
        (
            TOPIC,
            Field(
                "topics",
                "Comma-separated list of shadow topics.",
                ("-t", "--topics"),
                "TOPIC,...",
                In.WHOLE,
                list[str],
                read=_full_topics,
            ),
        ),
        heading=Heading.PROPERTIES,
    ),
    Request(
        "remove-shadow-topics",
        "DELETE",
        f"{_OF}/shadowTopics",
        "Remove the shadow topics of a topic.",
        "orders",
        (TOPIC,),
        heading=Heading.PROPERTIES,
    ),
    Request(
        "create-shadow-topic",
        "PUT",
        _OF,
        "Create a shadow topic, which serves the messages of another topic.",
        "orders-shadow -s orders",
        (
            TOPIC,
            Field("source", "Topic whose messages it serves.", ("-s", "--source"), "TOPIC", In.NOWHERE),
            names(
                "properties",
                "Properties of the shadow topic, as KEY=VALUE,...",
                "-p",
                "--properties",
                place=In.NOWHERE,
                default=None,
            ),
        ),
        heading=Heading.LIFECYCLE,
        body=_shadow_properties,
    ),
    Request(
        "enable-deduplication",
        "POST",
        f"{_OF}/deduplicationEnabled",
        "Store a message only once when its producer sends it again.",
        "orders",
        (TOPIC,),
        heading=Heading.PROPERTIES,
        body=_on,
        hidden=True,
    ),
    Request(
        "disable-deduplication",
        "POST",
        f"{_OF}/deduplicationEnabled",
        "Store a message each time that its producer sends it.",
        "orders",
        (TOPIC,),
        heading=Heading.PROPERTIES,
        body=_off,
        hidden=True,
    ),
)
