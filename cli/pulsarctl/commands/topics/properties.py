"""Verbs for the properties of a topic and its subscriptions, and for the permissions on a topic."""

from typing import Annotated

import typer

from pulsarctl.commands.topics.request_table import SHADOW_SOURCE
from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output import render
from pulsarctl.shell.arguments import Subscription, Topic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading

app = Noun("topics", "")

NewProperties = Annotated[
    list[str] | None, typer.Option("-p", "--property", metavar="KEY=VALUE", help="Property to set; may be repeated.")
]


@app.verb("get-properties", heading=Heading.PROPERTIES)
def get_properties(call: Call, topic: Topic) -> None:
    """Show the properties of a topic.

    Example: pulsarctl topics get-properties orders
    """
    call.show(call.admin.topics.properties(topic), as_map=True)


@app.verb("get-shadow-source", heading=Heading.PROPERTIES)
def get_shadow_source(call: Call, topic: Topic) -> None:
    """Show the topic whose messages a shadow topic serves.

    Example: pulsarctl topics get-shadow-source orders-shadow
    """
    source = call.admin.topics.properties(topic).get(SHADOW_SOURCE)
    if source is None:
        raise NotFound(f"{topic} is not a shadow topic")
    call.show(source)


@app.verb("update-properties", heading=Heading.PROPERTIES)
def update_properties(call: Call, topic: Topic, properties: NewProperties = None) -> None:
    """Set properties of a topic and keep its others.

    Example: pulsarctl topics update-properties orders -p owner=billing
    """
    new_properties = _required(properties)
    call.admin.topics.update_properties(topic, new_properties)
    call.tell(f"properties of {topic}: " + ", ".join(f"{key}={value}" for key, value in new_properties.items()))


@app.verb("remove-properties", heading=Heading.PROPERTIES)
def remove_properties(
    call: Call,
    topic: Topic,
    key: Annotated[
        str | None, typer.Option("-k", "--key", metavar="KEY", help="Property to remove. Default: all.")
    ] = None,
) -> None:
    """Remove one or all properties of a topic.

    Example: pulsarctl topics remove-properties orders -k owner
    """
    call.admin.topics.remove_properties(topic, key)


@app.verb("get-subscription-properties", heading=Heading.PROPERTIES)
def get_subscription_properties(call: Call, topic: Topic, subscription: Subscription) -> None:
    """Show the properties of a subscription.

    Example: pulsarctl topics get-subscription-properties orders -s billing
    """
    call.show(call.admin.topics.subscription_properties(topic, subscription))


@app.verb("update-subscription-properties", heading=Heading.PROPERTIES)
def update_subscription_properties(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    properties: NewProperties = None,
    clear: Annotated[bool, typer.Option("-c", "--clear", help="Remove all properties.")] = False,
) -> None:
    """Replace the properties of a subscription.

    Example: pulsarctl topics update-subscription-properties orders -s billing -p owner=alice
    """
    call.admin.topics.update_subscription_properties(topic, subscription, {} if clear else _required(properties))


@app.verb("permissions", "get-permissions", heading=Heading.PROPERTIES)
def permissions(call: Call, topic: Topic) -> None:
    """Show the permissions of each role on a topic.

    Example: pulsarctl topics permissions orders
    """
    call.show(call.admin.topics.permissions(topic), as_map=True)


@app.verb("policies", heading=Heading.POLICIES)
def policies(call: Call) -> None:
    """List the commands that get, set, and remove the policies of a topic.

    Example: pulsarctl topics policies
    """
    render.text(call.get_help())


def _required(properties: list[str] | None) -> dict[str, str]:
    by_name = pairs(properties)
    if not by_name:
        raise UsageProblem("no property given", hint="use -p KEY=VALUE")
    return by_name
