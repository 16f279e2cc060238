"""Verbs that read and write the properties of a topic and of its subscriptions, and who may use it."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import Subscription, Topic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("topics", "")

Given = Annotated[
    list[str] | None, typer.Option("-p", "--property", metavar="KEY=VALUE", help="A property; may be repeated.")
]


@app.verb("get-properties")
def get_properties(call: Call, topic: Topic) -> None:
    """Show the properties of a topic.

    Example: pulsarctl topics get-properties orders
    """
    call.show(call.admin.topics.properties(topic), as_map=True)


@app.verb("update-properties")
def update_properties(call: Call, topic: Topic, properties: Given = None) -> None:
    """Set properties of a topic; the others stay.

    Example: pulsarctl topics update-properties orders -p owner=billing
    """
    given = _some(properties)
    call.admin.topics.update_properties(topic, given)
    call.tell(f"properties of {topic}: " + ", ".join(f"{key}={value}" for key, value in given.items()))


@app.verb("remove-properties")
def remove_properties(
    call: Call,
    topic: Topic,
    key: Annotated[str | None, typer.Option("-k", "--key", metavar="KEY", help="This one; all by default.")] = None,
) -> None:
    """Remove a property of a topic, or all of them.

    Example: pulsarctl topics remove-properties orders -k owner
    """
    call.admin.topics.remove_properties(topic, key)


@app.verb("get-subscription-properties")
def get_subscription_properties(call: Call, topic: Topic, subscription: Subscription) -> None:
    """Show the properties of a subscription.

    Example: pulsarctl topics get-subscription-properties orders -s billing
    """
    call.show(call.admin.topics.subscription_properties(topic, subscription), as_map=True)


@app.verb("update-subscription-properties")
def update_subscription_properties(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    properties: Given = None,
    clear: Annotated[bool, typer.Option("-c", "--clear", help="Remove all of them.")] = False,
) -> None:
    """Replace the properties of a subscription.

    Example: pulsarctl topics update-subscription-properties orders -s billing -p owner=alice
    """
    call.admin.topics.update_subscription_properties(topic, subscription, {} if clear else _some(properties))


@app.verb("permissions", "get-permissions")
def permissions(call: Call, topic: Topic) -> None:
    """Show who may do what with a topic.

    Example: pulsarctl topics permissions orders
    """
    call.show(call.admin.topics.permissions(topic), as_map=True)


def _some(properties: list[str] | None) -> dict[str, str]:
    found = pairs(properties)
    if not found:
        raise UsageProblem("which properties?", hint="-p KEY=VALUE")
    return found
